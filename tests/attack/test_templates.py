"""Chat templates that would take all time or all memory, in every way that Jinja has: each ends, and says why.

Nothing is timed. A template that were not bounded would not end.
"""

import pytest

from gristmill.stages.chat_templates.budget import Unrendered
from gristmill.stages.chat_templates.template import ChatTemplate

TALK = [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Ho"}]
LAUGHS = "{% set ns = namespace(x=[1]) %}{% for i in range(40) %}{% set ns.x = [ns.x, ns.x] %}{% endfor %}"
"""A list of 2^40 elements, in little memory."""
TWINS = LAUGHS + "{% set n2 = namespace(y=[1]) %}{% for i in range(40) %}{% set n2.y = [n2.y, n2.y] %}{% endfor %}"
"""Two of them, which are equal."""
WORDS = "{% set x = 'a' * 100000000 %}{% set z = 'a' * 100000000 %}"
SPACED = "{% set x = 'a ' * 50000000 %}"
NUMBERS = "{% set x = [0] * 10000000 %}"
DIGITS = "{% set x = '9' * 10000000 %}"
AGAIN, END = "{% for i in range(99999) %}{% for j in range(99999) %}", "{% endfor %}{% endfor %}"
HASHED = r"""
{{ {}.get(ns.x) }}
{% set y = {ns.x: 1} %}
{{ ns.x in {} }}
{% set y = dict([[ns.x, 1]]) %}
{{ ns.x is filter }}
"""
PRINTED = r"""
{{ ns.x }}
{{ ns.x|tojson }}
{{ ns.x|string }}
{{ ns.x ~ '' }}
{{ '%s' % ns.x }}
{{ '{}'.format(ns.x) }}
{{ [ns.x]|join }}
{{ ns.x|upper }}
{{ raise_exception(ns.x) }}
{{ {}[ns.x] }}
"""
COMPARED = r"""
{{ ns.x == n2.y }}
{{ ns.x in [n2.y] }}
{{ [ns.x, n2.y]|sort|length }}
{{ ns.x is eq(n2.y) }}
{{ [ns.x].index(n2.y) }}
{{ [ns.x].count(n2.y) }}
{% for i in range(2) %}{{ loop.changed(ns.x if i else n2.y) }}{% endfor %}
{{ ns.x in [n2.y]|map('default') }}
"""
OF_WORDS = r"""
{% if 'b' in x %}{% endif %}
{% set y = x[1:] %}
{% set y = x|upper %}
{% set y = x.upper() %}
{% set y = x.find('b') %}
{% set y = x == z %}
"""
OF_SPACED = r"""
{% set y = x.split() %}
{% set y = x|list %}
{% set y = x|wordcount %}
{% set y = x|int %}
"""
OF_NUMBERS = r"""
{% set y = x|list %}
{% set y = x|first %}
{% set y = x|length %}
{% set y = x|last %}
{% set y = x|sum %}
{% set y = x|max %}
{% set y = x.count(1) %}
{% set y = x.copy() %}
{% set y = 1 in x %}
{% set y = dict(zip=x) %}
"""
OF_DIGITS = r"""
{{ x|int }}
{{ x|float }}
{{ x|urlencode }}
{{ x|length }}
"""
LOOPS = r"""
{{ 'a'|replace('', 'b' * 100000000)|replace('b', 'c' * 100000000) }}
{{ range(100000)|join('b' * 100000) }}
{{ {'a': [1] * 1000000}|tojson(indent=1000000) }}
{{ ([1] * 1000000)|tojson(indent=100) }}
{% for a in range(99999) %}{% for b in range(99999) %}{% endfor %}{% endfor %}
{% for a in range(99999) %}{% for b in range(99999) %}x{% endfor %}{% endfor %}
{% for a in range(99999) %}{% for b in range(99999) if b > 99999 %}{% endfor %}{% endfor %}
{% for a in range(99999) %}{% for b in 'a'*99999 %}{% if b %}{% continue %}{% endif %}{% endfor %}{% endfor %}
{% macro f(n) %}{% if n %}{{ f(n - 1) }}{{ f(n - 1) }}{% endif %}{% endmacro %}{{ f(40) }}
{% for x in [[[]]] recursive %}{{ loop([1, 1]) if loop.depth < 40 }}{% endfor %}
{% set ns = namespace(x='a') %}{% for i in range(100) %}{% set ns.x = ns.x + ns.x %}{% endfor %}
{% set ns = namespace(x='a') %}{% for i in range(100) %}{% set ns.x = ns.x ~ ns.x %}{% endfor %}
{% set n = namespace(x='a') %}{% for i in range(99) %}{% set y %}{{n.x}}{{n.x}}{% endset %}{% set n.x = y %}{% endfor %}
{% set ns = namespace(x=[1]) %}{% for i in range(100) %}{% set ns.x = ns.x + ns.x %}{% endfor %}
{{ range(0, 99999 * (2 ** 61 - 1), 2 ** 61 - 1)|unique|list|length }}
{{ ('a' * 10000000).rfind('ab' + 'a' * 1000000) }}
{{ ('a' * 10000000).strip('b' * 10000000 + 'a') }}
{% set n = ('f' * 1200000)|int(base=16) %}{% set m = ('f' * 500000)|int(base=16) %}{{ n // m }}
{% set x = '9' * 100000000 %}{{ x|int }}{{ x|float }}
{% set x = '9' * 100000000 %}{% for i in range(99999) %}{{ x|float }}{% endfor %}
{% set x = '9' * 10000000 %}{% for i in range(99999) %}{{ x|urlencode }}{% endfor %}
"""
CASES = [
    *[LAUGHS.replace("[", "(").replace("]", ",)") + each for each in HASHED.strip().split("\n")],
    *[LAUGHS + each for each in PRINTED.strip().split("\n")],
    *[TWINS + each for each in COMPARED.strip().split("\n")],
    *[
        given + AGAIN + each + END
        for given, uses in ((WORDS, OF_WORDS), (SPACED, OF_SPACED), (NUMBERS, OF_NUMBERS), (DIGITS, OF_DIGITS))
        for each in uses.strip().split("\n")
    ],
    *LOOPS.strip().split("\n"),
]


@pytest.mark.parametrize("template", CASES)
def test_a_template_without_end_ends(template: str) -> None:
    with pytest.raises(Unrendered, match=r"^not bounded: "):
        ChatTemplate(template).render(TALK, {})
