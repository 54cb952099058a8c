"""The step that tokenizes one snapshot of a mix's stream, with one tokenizer, into a few stable parts."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import msgspec

from gristmill.errors import RecipeError
from gristmill.execution.checks import Check, Verdict
from gristmill.execution.one_asset import OneAssetStep, ShardPlan, shard_for_workers, wanted_shards
from gristmill.execution.plan import PartitionState, Target, Want
from gristmill.execution.work import Item
from gristmill.lake.address import Place, cache_asset, mix_asset, place, tokenizer_asset
from gristmill.lake.identity import digest_of
from gristmill.lake.ledger.files import read_ledger
from gristmill.lake.ledger.model import Input, Recipe, Shard, Upstream
from gristmill.lake.rows.draw import VALIDATION_SEED
from gristmill.lake.store.protocol import Store
from gristmill.recipes.mix import Mix
from gristmill.recipes.row_format import NULL_KEYS, Chat, Text, asks_for_null_keys, format_parameters
from gristmill.recipes.tokenizer import Tokenizer
from gristmill.stages.mixing.held_out import check_held_out
from gristmill.stages.token_cache.grinder import TokenCacheItem, TokenCacheSpec
from gristmill.stages.token_cache.part import folder_names, part_name, part_records
from gristmill.stages.token_cache.part_table import check_cache_complete
from gristmill.stages.tokenization.files import (
    TOKENIZING,
    read_chat_template,
    read_tokenizer,
)


@dataclass(frozen=True)
class TokenCacheStep(OneAssetStep):
    """One snapshot of a stream's token cache."""

    mix: Mix
    stream: str
    tokenizer: Tokenizer
    snapshot: str
    shelves: tuple[str, ...]
    stage: str = "token_cache"

    @property
    def documents(self) -> Place:
        """The slice of the mix that is tokenized."""
        return place(mix_asset(self.mix.name, self.stream), self.snapshot)

    @property
    def asset(self) -> str:
        """The address of the token cache."""
        return cache_asset(self.mix.name, self.tokenizer.name, self.stream)

    @property
    def reads(self) -> tuple[str, ...]:
        return (mix_asset(self.mix.name, self.stream), tokenizer_asset(self.tokenizer.name))

    def code_version(self, asset: str) -> str:  # noqa: ARG002 - makes one asset
        """See Step. It is not the recipe's digest, which needs the tokenizer's fingerprint from the lake."""
        tokenizer, declared = self.tokenizer, self.mix.stream(self.stream).format
        return digest_of(
            [
                TOKENIZING,
                tokenizer.eos,
                tokenizer.bos,
                tokenizer.eos_style,
                tokenizer.long_strings,
                self.mix.parts,
                self.mix.validation,
                *([self.mix.held_out.parameters()] if self.mix.held_out else []),
                *([] if tokenizer.specials == "tokens" else [tokenizer.specials]),
                *([] if declared == Text() else [format_parameters(declared)]),
                *(NULL_KEYS if asks_for_null_keys(declared) else ()),
            ]
        )

    def checks(self, asset: str) -> Mapping[str, Check]:  # noqa: ARG002 - makes one asset
        return {"cache_complete": self._cache_complete}

    def _cache_complete(self, store: Store, partition: Place, parts: Sequence[Shard]) -> Verdict:
        documents = place(mix_asset(self.mix.name, self.stream), partition.snapshot)
        return check_cache_complete(store, read_ledger(store, documents)[1], parts, partition)

    def _cache_recipe(self, fingerprint: str, template: str | None) -> Recipe:
        declared = self.mix.stream(self.stream).format
        parameters: dict[str, Any] = {
            "format": "text" if declared == Text() else format_parameters(declared),
            "tokenizer": fingerprint,
            **self.tokenizer.options(template).parameters(),
            "validation": self.mix.validation,
            "validation_seed": VALIDATION_SEED,
            "parts": self.mix.parts,
        }
        if self.mix.held_out:
            parameters["validation_key"] = self.mix.held_out.parameters()["key"]
        if asks_for_null_keys(declared, template):
            parameters["null keys"] = NULL_KEYS
        name = f"{self.mix.name}/{self.tokenizer.name}/{self.stream}"
        return Recipe(name, TOKENIZING, parameters, self.mix.draft or self.tokenizer.draft)

    def plan(self, store: Store) -> "TokenCachePlan":
        """See Step.

        Raises:
            DataError: the tokenizer does not exist yet, or its file has changed without a new name.
            RecipeError: a chat format has no template, its template does not mark the assistant's words, or its
                tokenizer encodes special strings as text although templates write them.
        """
        tokenizer, _ = read_tokenizer(store, self.tokenizer.name)
        template = self.chat_template_text(store)
        ledger, shards = read_ledger(store, self.documents)
        check_held_out(self.mix.held_out, ledger)
        recipe = self._cache_recipe(tokenizer.fingerprint, template)
        tokenizer_input = Input(tokenizer_asset(self.tokenizer.name), "tokenizer.json", tokenizer.fingerprint)
        documents = self.documents.asset
        groups: dict[str, list[Shard]] = {}
        for shard in shards:
            groups.setdefault(part_name(shard.name, self.mix.parts), []).append(shard)
        bodies: dict[str, TokenCacheItem] = {}
        for name, members in sorted(groups.items()):
            inputs = (*(Input(documents, s.name, s.identity) for s in members), tokenizer_input)
            folder, _ = folder_names(name, recipe.digest, inputs)
            bodies[name] = TokenCacheItem(folder, tuple(map(shard_for_workers, members)), inputs, None)
        upstream = (ledger.upstream, Upstream(tokenizer_asset(self.tokenizer.name), "", tokenizer.fingerprint))
        target = Target(self.made_place, recipe, upstream, wanted_shards(bodies))
        spec = partial(
            TokenCacheSpec,
            documents=self.documents,
            tokenizer=self.tokenizer.name,
            fingerprint=tokenizer.fingerprint,
            options=self.tokenizer.options(template),
            validation=self.mix.validation,
            splits=("train", "validation") if self.mix.validation else ("train",),
            format=format_parameters(self.mix.stream(self.stream).format),
        )
        return TokenCachePlan(target, spec, bodies, lambda body: sum(shard.length for shard in body.shards))

    def chat_template_text(self, store: Store) -> str | None:
        """The chat template: the format's or, if it has none, the tokenizer's. None for other formats.

        Raises:
            DataError: it is the tokenizer's, which the lake does not have.
            RecipeError: the declarations do not fit: see plan().
        """
        declared = self.mix.stream(self.stream).format
        if not isinstance(declared, Chat):
            return None
        where = f"mix {self.mix.name!r}, stream {self.stream!r}"
        if self.tokenizer.specials == "text":
            raise RecipeError(
                f"{where}: tokenizer {self.tokenizer.name} encodes special strings as text, but a chat template writes"
                " them as tokens; give the tokenizer specials='refuse' to keep them out of the turns"
            )
        template = declared.chat_template or None
        if template is None and (self.tokenizer.training is None or self.tokenizer.chat_template):
            template = read_chat_template(store, self.tokenizer.name)  # one that is trained here has that of its recipe
        if template is None:
            raise RecipeError(
                f"{where}: no chat template: neither its format has a chat_template, nor has the tokenizer"
                f" {self.tokenizer.name} one in tokenizer_config.json or chat_template.jinja; add one"
            )
        from gristmill.stages.chat_templates.template import ChatTemplate  # noqa: PLC0415 - imports Jinja

        if declared.mask_user_turns and not ChatTemplate(template, today=declared.today).has_generation:
            raise RecipeError(
                f"{where}: the chat template has no {{% generation %}} block, so the assistant's words cannot be found;"
                " put the block around them, or give the format mask_user_turns=False to learn every turn"
            )
        return template


@dataclass(frozen=True)
class TokenCachePlan(ShardPlan[TokenCacheItem]):
    """The plan of one slice. Unchanged shards are copied from the part that a new one replaces."""

    def items(self, todo: Mapping[str, Sequence[Want]], states: Mapping[str, PartitionState]) -> list[Item]:
        """See StepPlan."""
        asset, recipe = self.target.place.asset, self.target.recipe.digest
        before, bodies = states[asset].receipts, dict(self.bodies)
        for name in (want.name for want in todo[asset]):
            # If the inputs are the same and the part is due all the same, it was not trusted or a full rebuild was
            # requested. Then nothing of it is copied.
            old = before.get(name)
            if old is not None and old.row.inputs != bodies[name].inputs and old.row.recipe == recipe:
                bodies[name] = msgspec.structs.replace(bodies[name], old=part_records([old.row]).get(name))
        return ShardPlan(self.target, self.settings, bodies, self.weight).items(todo, states)
