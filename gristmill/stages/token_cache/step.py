"""The step that tokenizes one snapshot of a mix's stream, with one tokenizer, into a few stable parts."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from gristmill.errors import RecipeError
from gristmill.execution.checks import Check, Verdict
from gristmill.execution.plan import PartitionState, Target, Want
from gristmill.execution.work import Item, raw
from gristmill.lake.address import Place, cache_asset, mix_asset, place, tokenizer_asset
from gristmill.lake.identity import digest_of
from gristmill.lake.ledger.files import read_ledger
from gristmill.lake.ledger.model import Input, Recipe, Shard, Upstream
from gristmill.lake.rows.draw import VALIDATION_SEED
from gristmill.lake.store.protocol import Store
from gristmill.recipes.mix import Mix
from gristmill.recipes.row_format import NULL_KEYS, Chat, Text, asks_for_null_keys, parameters_of
from gristmill.recipes.tokenizer import Tokenizer
from gristmill.stages.mixing.held_out import check_held_out
from gristmill.stages.token_cache.grinder import TokenCacheItem, TokenCacheSpec
from gristmill.stages.token_cache.part import folder_names, part_name, part_records
from gristmill.stages.token_cache.part_table import cache_complete
from gristmill.stages.tokenization.files import (
    TOKENIZING,
    read_template,
    read_tokenizer,
)


@dataclass(frozen=True)
class TokenCacheStep:
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
    def makes(self) -> tuple[str, ...]:
        """See Step."""
        return (self.asset,)

    @property
    def reads(self) -> tuple[str, ...]:
        """See Step."""
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
                *([] if declared == Text() else [parameters_of(declared)]),
                *(NULL_KEYS if asks_for_null_keys(declared) else ()),
            ]
        )

    def checks(self, asset: str) -> Mapping[str, Check]:  # noqa: ARG002 - makes one asset
        """See Step."""
        return {"cache_complete": self._cache_complete}

    def _cache_complete(self, store: Store, partition: Place, parts: Sequence[Shard]) -> Verdict:
        documents = place(mix_asset(self.mix.name, self.stream), partition.snapshot)
        return cache_complete(store, read_ledger(store, documents)[1], parts, partition)

    def _recipe(self, fingerprint: str, template: str | None) -> Recipe:
        declared = self.mix.stream(self.stream).format
        parameters: dict[str, Any] = {
            "format": "text" if declared == Text() else parameters_of(declared),
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
        template = self.template_of(store)
        ledger, shards = read_ledger(store, self.documents)
        check_held_out(self.mix.held_out, ledger)
        recipe = self._recipe(tokenizer.fingerprint, template)
        tokenizer_input = Input(tokenizer_asset(self.tokenizer.name), "tokenizer.json", tokenizer.fingerprint)
        documents = self.documents.asset
        groups: dict[str, list[Shard]] = {}
        for shard in shards:
            groups.setdefault(part_name(shard.name, self.mix.parts), []).append(shard)
        bodies: dict[str, TokenCacheItem] = {}
        for name, members in sorted(groups.items()):
            inputs = (*(Input(documents, s.name, s.identity) for s in members), tokenizer_input)
            lean = tuple(msgspec.structs.replace(s, members=(), inputs=()) for s in members)
            bodies[name] = TokenCacheItem(folder_names(name, recipe.digest, inputs)[0], lean, inputs, None)
        wants = tuple(Want(name, body.inputs) for name, body in bodies.items())
        upstream = (ledger.upstream, Upstream(tokenizer_asset(self.tokenizer.name), "", tokenizer.fingerprint))
        target = Target(place(self.asset, self.snapshot), recipe, upstream, wants)
        return TokenCachePlan(self, target, bodies, template)

    def template_of(self, store: Store) -> str | None:
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
        template = declared.chat_template or read_template(store, self.tokenizer.name)
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
class TokenCachePlan:
    """The plan of one slice: the shards of each part.

    Attributes:
        step: the step that was planned.
        target: the partition as it should be.
        bodies: the work for each part, by the part's name.
        template: the chat template; None for other formats.
    """

    step: TokenCacheStep
    target: Target
    bodies: Mapping[str, TokenCacheItem]
    template: str | None

    @property
    def targets(self) -> tuple[Target, ...]:
        """See StepPlan."""
        return (self.target,)

    def spec(self, token: str) -> TokenCacheSpec:
        """See StepPlan."""
        mix, tokenizer = self.step.mix, self.step.tokenizer
        return TokenCacheSpec(
            documents=self.step.documents,
            place=self.target.place,
            token=token,
            recipe=self.target.recipe.digest,
            tokenizer=tokenizer.name,
            fingerprint=self.target.recipe.parameters["tokenizer"],
            options=tokenizer.options(self.template),
            validation=mix.validation,
            splits=("train", "validation") if mix.validation else ("train",),
            format=parameters_of(mix.stream(self.step.stream).format),
        )

    def items(self, todo: Mapping[str, Sequence[Want]], states: Mapping[str, PartitionState]) -> list[Item]:
        """See StepPlan."""
        asset, recipe = self.target.place.asset, self.target.recipe.digest
        before = states[asset].receipts
        items: list[Item] = []
        for want in todo[asset]:
            body = self.bodies[want.name]
            old = before.get(want.name)
            # If the inputs are the same and the part is due all the same, it was not trusted or a full rebuild was
            # requested. Then nothing of it is copied.
            same = old is not None and old.row.inputs == body.inputs
            if old is not None and not same and old.row.recipe == recipe:
                body = msgspec.structs.replace(body, old=part_records([old.row]).get(want.name))
            items.append(Item(want.name, sum(s.length for s in body.shards), raw(body)))
        return items
