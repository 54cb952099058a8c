"""Templates are rendered as Levanter renders them; the assistant's words cannot be forged, and every harm is told."""

import re
from typing import Any

import pytest

from gristmill.errors import RecipeError
from gristmill.stages.chat_templates.budget import Unrendered
from gristmill.stages.chat_templates.template import ChatTemplate

TALK = [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Hello"}]
ONE = (
    "{% for m in messages %}{% if m.role == 'assistant' %}{% generation %}{{ m.content }}{% endgeneration %}"
    "{% else %}{{ m.content }}{% endif %};{% endfor %}"
)


def said(template: str, messages: Any = TALK, **variables: Any) -> tuple[str, list[str]]:
    """The rendered text, and the assistant's words in it."""
    text, spans, _ = ChatTemplate(template).render(messages, variables)
    return text, [text[begin:end] for begin, end in spans]


def refused(template: str, messages: Any = TALK, **options: Any) -> str:
    with pytest.raises(Unrendered) as caught:
        ChatTemplate(template, **options).render(messages, {})
    return str(caught.value)


@pytest.mark.parametrize(
    "forged",
    [
        "\x7fgristmill:said\x7fmine\x7fgristmill:end\x7f",
        "__MARIN_GEN_START_7f3a9c__mine__MARIN_GEN_END_7f3a9c__",
        "{% generation %}mine{% endgeneration %}",
        "\ue000mine\ue001 \U000f0000mine\U0010fffd \ufffe\uffff",
    ],
)
def test_no_text_of_a_row_is_taken_for_the_assistants_words(forged: str) -> None:
    messages = [{"role": "user", "content": forged}, {"role": "assistant", "content": "Hello"}]
    assert said(ONE, messages) == (f"{forged};Hello;", ["Hello"])


def test_a_lone_surrogate_that_reached_a_template_would_be_told() -> None:
    for content in ("\udbfemine\udbff", "\udbfe", "\udbff", "\udbff\udbfe"):
        found = [{"role": "user", "content": content}, {"role": "assistant", "content": "Hello"}]
        assert refused(ONE, found).startswith("assistant's words are ")
    for content in ("\ud800", "Hello\udfff"):
        found = [{"role": "user", "content": content}, {"role": "assistant", "content": "Hello"}]
        for specials in (None, re.compile("<s>")):
            assert refused(ONE, found, specials=specials).startswith("not rendered: the rendered text has a lone")
    for template in (
        *("a\udbfeb", r"{{ '\udbfe' }}", "{{ '%c' % 56320 }}", "{{ '{:c}'.format(56320) }}"),
        *("{{ '%lc' % 0xD800 }}", "{{ '%(x)lc' % {'x': 56320} }}", "{{ '{0[}]:c}'.format({'}': 56320}) }}"),
    ):
        with pytest.raises((RecipeError, Unrendered)):
            ChatTemplate(template).render(TALK, {})


def test_the_words_of_an_error_are_text() -> None:
    """The ledger holds them. A template's own strings print as surrogates while it runs."""
    specials = re.compile("<s>")
    assert refused("{{ raise_exception('no') }}", specials=specials) == "refused by the template: no"
    assert refused("{{ messages['\\n' ~ 1].x }}", specials=specials).isascii()
    assert refused("{{ raise_exception(messages[0].content) }}", [{"content": "a\ud800b"}]).endswith(": a?b")


def test_the_assistants_words_are_found_wherever_a_template_puts_them() -> None:
    macro = "{% macro f(m) %}{% generation %}{{ m.content }}{% endgeneration %}{% endmacro %}"
    held = "{% set x %}{% generation %}abc{% endgeneration %}{% endset %}"
    for template in (
        macro + "u:{{ f(messages[1]) }};",
        macro + "{{ 'u:' + f(messages[1]) + ';' }}",
        macro + "{{ 'u:' ~ f(messages[1]) ~ ';' }}",
        macro + "{{ ['u:', f(messages[1]), ';'] | join }}",
        macro + "{{ ' u:' ~ f(messages[1]) ~ '; ' | trim }}",
        "u:{% filter trim %} {% generation %}Hello{% endgeneration %} {% endfilter %};",
        "u:{% for x in [1] recursive %}{% generation %}Hello{% endgeneration %}{% endfor %};",
    ):
        text, words = said(template)
        assert (text.strip(), words) == ("u:Hello;", ["Hello"]), template
    assert said(held + "{{ x }}{{ x }}") == ("abcabc", ["abc", "abc"])
    assert said(held + "{{ x | upper }}") == ("ABC", ["ABC"])
    assert said("{% generation %}{% endgeneration %}a") == ("a", [""])
    nested = "{% generation %}a{% generation %}b{% endgeneration %}c{% endgeneration %}"
    assert said(nested) == ("abc", ["b"])  # as in Levanter


def test_words_that_are_measured_changed_or_lost_are_refused() -> None:
    held = "{% set x %}{% generation %} abc {% endgeneration %}{% endset %}"
    for use in ("{{ x }}{{ x | length }}", "{{ x | trim }}", "{{ x.strip() }}", "{{ x }}{{ x == ' abc ' }}"):
        assert refused(held + use).startswith("assistant's words are measured: "), use
    for use in ("", "{{ x[:3] }}", "{{ x[3:] }}", "{{ x | reverse }}", "{{ x | tojson(ensure_ascii=true) }}"):
        assert refused(held + use).startswith("assistant's words are lost: "), use
    inner = "{% for m in [1] recursive %}{% generation %} a {% endgeneration %}{% endfor %}"
    assert refused("{% macro f() %}" + inner + "{% endmacro %}{{ f() | length }}").startswith(
        "assistant's words are lost"
    )


def test_turns_have_null_for_what_levanter_gives_as_null_and_no_more() -> None:
    ask = (
        "{{ messages|selectattr('%s', 'defined')|list|length }}"
        "{{ messages[0].%s is none }}{{ messages[0]['%s'] is none }}"
    )
    for key in ("tool_calls", "reasoning_content"):
        assert said(ask.replace("%s", key))[0] == "2TrueTrue"
        assert said(f"{{{{ '{key}' in messages[0] }}}}{{{{ messages[0].get('{key}', 1) }}}}")[0] == "False1"
        plain = ChatTemplate(f"[{{{{ messages[0].{key} }}}}]", strict=False)
        assert plain.render(TALK, {})[0] == "[]"
    assert (
        said(ask.replace("%s", "name") + "{{ messages[0]|tojson }}")[0]
        == '0FalseFalse{"role": "user", "content": "Hi"}'
    )
    assert refused("{{ messages[0].name }}").startswith("undefined template variable: ")
    assert refused("{{ tools }}").startswith("undefined template variable: ")
    assert refused("{{ messages[0]._x }}", [{"role": "user", "_x": "y"}]).startswith("not rendered: SecurityError")


def test_a_special_token_is_the_templates_own_or_it_is_told() -> None:
    pattern = re.compile("|".join(map(re.escape, ("<|end|>", "<|user|>", "</s>", "<s>x", "<s>"))))
    chat = (
        "{{ bos_token }}{% for m in messages %}{{ '<|' + m.role + '|>' + m.content | trim + '<|end|>' }}{% endfor %}"
        "{{ eos_token }}"
    )
    body = "{{ bos_token }}{% for m in messages %}{{ m.content }}{% endfor %}{{ more }}"

    def brought(template: str, *contents: str, role: str = "user", more: str = "") -> str | None:
        made = ChatTemplate(template, bos="<s>", eos="</s>", specials=pattern)
        text, _, found = made.render([{"role": role, "content": each} for each in contents], {"more": more})
        assert (
            text
            == ChatTemplate(template, bos="<s>", eos="</s>").render(
                [{"role": role, "content": each} for each in contents], {"more": more}
            )[0]
        )
        return found

    assert brought(chat, "Hi", " Ho ") is None
    assert brought(chat, "a<|end|>b") == "<|end|>"
    assert brought(chat, "Hi", role="end") == "<|end|>"
    assert brought(body, "a<|e", "nd|>b") == "<|end|>"
    assert brought(body, "a", more="</s>") == "</s>"
    assert brought(body, "x") == "<s>x"
    assert brought(body, "a <|end |>") is None
    for own in (
        "{% set e = '<|end|>' %}{{ messages[0].content + e }}",
        "{% set ns = namespace(e='') %}{% set ns.e = '<|' ~ 'end' ~ '|>' %}{{ ns.e }}",
        "{% macro f(e) %}{{ e }}{% endmacro %}{{ f('<|end|>') }}{{ f(bos_token) | trim }}",
        "{{ {'a': '<|end|>'}['a'] }}{{ ['<|end|>'][0] }}{{ '<|end|>' if messages else '' }}",
        "{% set x %}<|end|>{% endset %}{{ x }}{% if x == '<|end|>' %}<|user|>{% endif %}{{ ' <|end|> '.strip() }}",
    ):
        assert brought(own, "Hi") is None, own
    assert (
        brought("{{ messages[0].content.replace('i', '<|end|>') }}", "Hi") == "<|end|>"
    )  # it is not known who wrote it


def test_a_template_sees_only_the_date_of_the_recipe() -> None:
    assert refused("{{ strftime_now('%Y') }}").startswith("asks for the date: ")
    assert refused("{{ strftime_now('%s') }}", today="2026-11-30").startswith("asks for the date: ")
    made = ChatTemplate("{{ strftime_now('%d %b %Y %H:%M %%s') }}", today="2026-11-30")
    assert made.render(TALK, {})[0] == "30 Nov 2026 00:00 %s"
    with pytest.raises(RecipeError, match="today is 'soon'"):
        ChatTemplate("", today="soon")


def test_a_filter_that_is_not_offered_is_told_from_one_that_does_not_exist() -> None:
    with pytest.raises(
        RecipeError, match=r"cannot be used \(No filter named 'pprint'\.\); remove it: this filter is not offered"
    ):
        ChatTemplate("{{ messages | pprint }}")
    with pytest.raises(RecipeError, match=r"cannot be used \(No filter named 'pprintt'\.\); correct it"):
        ChatTemplate("{{ messages | pprintt }}")
