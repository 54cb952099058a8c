"""Templates that reach for Python, chance, addresses or nothing that exists: each is told, none crashes."""

import pytest

from gristmill.errors import RecipeError
from gristmill.stages.chat_templates.budget import Unrendered
from gristmill.stages.chat_templates.template import ChatTemplate

TALK = [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Ho"}]

REFUSED = r"""
{{ ''.__class__.__mro__ }}
{{ messages.append(1) }}
{{ messages.__len__() }}
{{ cycler.__init__.__globals__ }}
{{ self._TemplateReference__context }}
{{ ''|attr('__class__') }}
{{ [''.__class__]|map(attribute='__mro__')|list }}
{{ '{0.__class__}'.format('') }}
{{ '{0.__class__.__mro__}'.format_map({'0': ''}) }}
{{ messages[0].pop('role') }}
{{ messages.clear() }}
{{ messages|map('random')|list }}
{{ raise_exception }}
{{ range }}
{{ messages.append }}
{{ 'a'.upper }}
{{ messages|map('upper') }}
{{ [messages|map('upper')] }}
{{ messages|map('upper')|string }}
{{ 'a' ~ 'a'.upper }}
{{ '%s' % 'a'.upper }}
{{ '%s' % ['a'.upper] }}
{{ '{}'.format('a'.upper) }}
{{ ['a'.upper]|join }}
{{ ['a'.upper]|join(',') }}
{{ ','.join(['a'.upper]) }}
{{ [[1,2]]|map('reverse')|list }}
{{ [1,2]|reverse }}
{{ cycler(1,2) }}
{{ joiner(',') }}
{{ cycler(1,2).next }}
{{ namespace(a=1) }}
{{ [namespace(a=1)] }}
{% block b %}{% endblock %}{{ self.b }}
{{ messages[0].items() | batch(2) }}
{{ {'a': 'a'.upper} }}
{{ 'a'.upper | default(1) }}
{{ messages[0].keys() - ['x'] }}
{{ (messages[0]|items)|tojson }}
{{ range(1000000000) }}
{{ 'a'.translate({97: 'b' * 1000}) }}
{{ (1).to_bytes(1000000000, 'big') }}
{{ 'a'.encode() }}
{{ 1 // 0 }}
{{ 1 % 0 }}
{{ 'abc'.index('z') }}
{{ messages() }}
{{ [] + {} }}
{{ 'a' < 1 }}
{{ '%d' % 'a' }}
{{ '%' % 1 }}
{{ '%d' is odd }}
{{ '%d' is even }}
{{ '%d' is divisibleby 3 }}
{{ '{'.format(1) }}
{{ '{5}'.format(1) }}
{{ [3, 'a']|sort }}
{{ dict(1) }}
{{ dict([1, 2]) }}
{{ 1|batch(0)|list }}
{{ cycler() }}
{{ raise_exception() }}
{{ (1).__class__ }}
{% set ns = namespace(x=messages.append) %}{{ ns.x }}
{{ messages|groupby('role')|map('first') }}
{{ dict.fromkeys }}
"""
"""They use what a template may not have, or fail as Python fails."""
UNDEFINED = r"""
{{ range.__globals__ }}
{{ raise_exception.__globals__ }}
{{ lipsum() }}
{{ messages[99] }}
{{ messages[99].content }}
{{ {}.a.b }}
{{ ''|first|upper }}
{{ tojson }}
{{ undefined_function() }}
{{ loop.index }}
{{ super() }}
{{ caller() }}
{{ varargs }}
"""
NOT_JINJA = r"""
{{ [1,2,3]|random }}
{{ 'a'.upper | pprint }}
{{ messages|first|last|nosuch }}
{% include 'a' %}
{% import 'a' as a %}
{% from 'a' import b %}
{% extends 'a' %}
{% autoescape true %}{{ '<' }}{% endautoescape %}
{% for %}
{% if %}
{{ }}
{{ 'a'|nosuch }}
{{ 1 is nosuch }}
{% nosuch %}
{% break %}
{% generation %}
{% endgeneration %}
{{ '\ud800' }}
"""
DEEP = {
    "parentheses": "{{ " + "(" * 5000 + "1" + ")" * 5000 + " }}",
    "lists": "{{ " + "[" * 5000 + "]" * 5000 + " }}",
    "blocks": "{% if 1 %}" * 3000 + "{% endif %}" * 3000,
    "loops": "{% for a in [1] %}" * 30 + "x" + "{% endfor %}" * 30,
    "number": "{{ " + "9" * 5000 + " }}",
    "negations": "{{ " + "not " * 20000 + "1 }}",
    "filters": "{{ 'a'" + "|upper" * 20000 + " }}",
    "choices": "{{ " + "1 if 1 else " * 5000 + "1 }}",
}
"""The parser of Jinja, or the compiler of Python, gives up on each of them in its own way."""
FINE = {
    "{{ [3, 1, 2]|sort|join(',') }}": "1,2,3",
    "{{ messages|map(attribute='role')|list }}": "['user', 'assistant']",
    "{{ messages|map(attribute='content')|join('-') }}": "Hi-Ho",
    "{% for a in range(3) %}{{ loop.cycle('x', 'y') }}{% endfor %}": "xyx",
    "{% set c = cycler(1, 2) %}{{ c.next() }}{{ c.next() }}{{ c.next() }}": "121",
    "{% set j = joiner(', ') %}{{ j() }}a{{ j() }}b": "a, b",
    "{% set ns = namespace(n=1) %}{% for a in 'abc' %}{% set ns.n = ns.n * 2 %}{% endfor %}{{ ns.n }}": "8",
    "{{ 'a-b'.split('-', 1) }}{{ 7 % 4 }}{{ 2 ** 10 }}{{ 7 - 4 }}{{ 'ab' * 2 }}": "['a', 'b']310243abab",
    "{{ '%s:%5.1f' % ('a', 2.25) }}{{ '{} {x:>4}'.format(1, x=2) }}": "a:  2.21    2",
    "{{ messages[0].items()|list }}": "[('role', 'user'), ('content', 'Hi')]",
    "{% for k, v in messages[0].items() %}{{ k ~ v }}{% if loop.last %}!{% endif %}{% endfor %}": "roleusercontentHi!",
    "{{ messages|selectattr('role', 'equalto', 'user')|list|length }}{{ messages|length }}": "12",
    "{{ messages[::-1]|first|tojson }}": '{"role": "assistant", "content": "Ho"}',
    "{{ 1 if messages|select else 0 }}{{ 'Hi' in messages[0].content }}{{ 'role' in messages[0] }}": "1TrueTrue",
    "{% macro f(a, b=2) %}{{ a ~ b }}{% endmacro %}{{ f(1) }}{{ f(1, b=3) }}{{ f }}": "1213<Macro 'f'>",
    "{% for x in [[1, [2]]] recursive %}{{ loop(x) if x is iterable else x }}{% endfor %}": "12",
    "{{ 'aXbX'.replace('X', '--') }}{{ 'aXbX'|replace('X', '-', 1) }}{{ ','.join(['a', 'b']) }}": "a--b--a-bXa,b",
    "{{ 'x'|indent(2, true) }}{{ 'x'|center(3) }}{{ [1, 2, 3]|batch(2)|list }}": "  x x [[1, 2], [3]]",
    "{{ messages[99] is defined }}{{ (messages|last).content|upper }}{{ [1, [2]]|sum(start=0) if 0 }}": "FalseHO",
}


def outcome(template: str) -> str:
    try:
        return ChatTemplate(template).render(TALK, {})[0]
    except Unrendered as error:
        return error.reason


@pytest.mark.parametrize("template", REFUSED.strip().split("\n"))
def test_what_a_template_may_not_do_is_an_error_of_its_row(template: str) -> None:
    assert outcome(template) == "not rendered"


@pytest.mark.parametrize("template", UNDEFINED.strip().split("\n"))
def test_what_does_not_exist_is_undefined(template: str) -> None:
    assert outcome(template) == "undefined template variable"


@pytest.mark.parametrize("template", [*NOT_JINJA.strip().split("\n"), *DEEP.values()], ids=lambda t: t[:30])
def test_what_does_not_compile_is_an_error_of_the_recipe(template: str) -> None:
    with pytest.raises(RecipeError, match=r"the chat template .*(correct|remove) it|it must be one file"):
        ChatTemplate(template)


@pytest.mark.parametrize("template", FINE)
def test_honest_templates_are_rendered_as_by_jinja(template: str) -> None:
    assert outcome(template) == FINE[template]
