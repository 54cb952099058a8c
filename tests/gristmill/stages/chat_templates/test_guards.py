"""Templates that would make more text or numbers than a machine has: each is told before it does."""

import pytest

from gristmill.stages.chat_templates.budget import STEPS, Budget, Unrendered
from gristmill.stages.chat_templates.guards import count_squares
from gristmill.stages.chat_templates.template import ChatTemplate

TALK = [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Ho"}]

BOMBS = r"""
{% for a in range(99999) %}{% for b in range(99999) %}{% endfor %}{% endfor %}
{{ 'a' * 10**9 }}
{{ 'a' * 1000000000 }}
{{ 1000000000 * [1] }}
{{ ('a',) * 1000000000 }}
{{ 2 ** 100000000 }}
{{ 'a'|center(1000000000) }}
{{ 'a'.center(1000000000) }}
{{ 'a'.ljust(10000000000) }}
{{ 'a'.rjust(width=10000000000) }}
{{ '1'.zfill(1000000000) }}
{{ '\t'.expandtabs(1000000000) }}
{{ '\t'.expandtabs(tabsize=1000000000) }}
{{ ('\t' * 100000).expandtabs(100000) }}
{{ '%1000000000d' % 1 }}
{{ '%*d' % (1000000000, 1) }}
{{ '%.1000000000f' % 1.0 }}
{{ '%(a)1000000000d' % {'a': 1} }}
{{ '%1000000000d'|format(1) }}
{{ '{:1000000000}'.format(1) }}
{{ '{:{}}'.format(1, 1000000000) }}
{{ '{0:{1}}'.format(1, 1000000000) }}
{{ '{a:1000000000}'.format_map({'a': 1}) }}
{{ 'a'|indent(1000000000, true) }}
{{ ('a\n' * 100000)|indent(100000) }}
{{ [1]|batch(1000000000, 0)|list }}
{{ [1]|slice(1000000000)|list }}
{{ 1|round(1000000000, 'floor') }}
{{ 1.5|round(100000000, 'ceil') }}
{{ range(99999)|list|length * 'aaaaaaaaaaaaaaaaaaaa' * 10000 }}
{{ ('a' * 100000).replace('a', 'b' * 100000) }}
{{ ('a' * 100000)|replace('a', 'b' * 100000) }}
{{ ('a' * 100000)|join('b' * 100000) }}
{{ ('b' * 100000).join('a' * 100000) }}
{{ ([[1] * 10000] * 10000)|sum(start=[])|length }}
{% macro f(n) %}{{ f(n) }}{% endmacro %}{{ f(1) }}
{% for x in [1] recursive %}{{ loop(range(99999)) if loop.depth < 40 }}{% endfor %}
{% set ns = namespace(x=2) %}{% for i in range(100) %}{% set ns.x = ns.x * ns.x %}{% endfor %}
{% set ns = namespace(x=2) %}{% for i in range(100) %}{% set ns.x = ns.x ** 2 %}{% endfor %}
{% set x = 'a' * 100000000 %}{% for i in range(99999) %}{{ x }}{% endfor %}
{% set x = [0] * 10000000 %}{% for i in range(99999) %}{% set y = x|map('string')|list %}{% endfor %}
{% set x = [0] * 10000000 %}{% for i in range(99999) %}{% set y = x|select|first %}{% endfor %}
{% set x = [0] * 10000000 %}{% for i in range(99999) %}{% set y = x|select('gt', 5)|first %}{% endfor %}
{{ '%c' % 56320 }}
{{ '%c'|format(56320) }}
{{ '{:c}'.format(56320) }}
{{ ('f' * 400)|int(base=16) }}
{{ ([2 ** 511 * 2 ** 511] * 4)|sum }}
{{ range(60000)|unique|list|length }}
{{ [1, 2]|tojson(separators=('b' * 100000000, ':'))|length }}
{{ ([{'a': [1] * 100}] * 1700)|sum('a', start=[])|length }}
{{ ('b' * 4000000).strip('b' * 1000000) }}
{{ ('b' * 4000000).lstrip('b' * 1000000) }}
{{ ('b' * 4000000).rstrip('b' * 1000000) }}
{{ ('a' * 4000000).rfind('b' * 1000000) }}
{{ ('a' * 4000000).rindex('b' * 1000000) }}
{{ ('a' * 4000000).rpartition('b' * 1000000)|length }}
{{ ('a' * 4000000).rsplit('b' * 1000000)|length }}
{{ 'a'.startswith(('b' * 1000000,) * 10000) }}
{% set x = 'a' * 100000000 %}{% for i in range(30) %}{% set y = {}[x] %}{% endfor %}
{% set x = 'a' * 100000000 %}{% for i in range(30) %}{% set y = {}.get(x) %}{% endfor %}
{% set x = range(99999) %}{% for i in range(30) %}{% set y = 1.5 in x %}{% endfor %}
"""
NESTED = "{% set ns = namespace(x=()) %}{% for i in range(60) %}{% set ns.x = (ns.x,) %}{% endfor %}"
"""A tuple 60 deep. With `(ns.x, ns.x)` instead it would have 2^60 elements, and a single hash of it would not end."""
HASHED = r"""
{{ {}.get(ns.x) }}
{% set y = {ns.x: 1} %}
{{ ns.x in {} }}
{{ ns.x not in {} }}
{{ ns.x in {}.keys() }}
{{ 2 in [ns.x]|map('default') }}
{{ 2 is in([ns.x]|map('default')) }}
{% set y = dict([[ns.x, 1]]) %}
{% set y = namespace([[ns.x, 1]]) %}
{% for i in range(2) %}{{ loop.changed(ns.x) }}{% endfor %}
{{ ns.x is filter }}
{{ ns.x is test }}
{{ ns.x is lower }}
{{ ns.x is upper }}
{{ ns.x == () }}
{{ ns.x is greaterthan(()) }}
{{ ns.x is lessthan(()) }}
"""
"""One step of each hashes, compares or prints all of a value."""


@pytest.mark.slow
@pytest.mark.parametrize(
    "template", [*BOMBS.strip().split("\n"), *[NESTED + each for each in HASHED.strip().split("\n")]]
)
def test_a_template_that_would_make_too_much_is_an_error_of_its_row(template: str) -> None:
    with pytest.raises(Unrendered, match=r"^not bounded: "):
        ChatTemplate(template).render(TALK, {})


def test_only_known_methods_are_called() -> None:
    for call in ("'a'.encode()", "'a'.translate({97: 'b'})", "(5).bit_length()", "(1.5).is_integer()"):
        with pytest.raises(Unrendered, match=r"^not rendered: templates may not call \w+\.\w+"):
            ChatTemplate("{{ " + call + " }}").render(TALK, {})


def test_only_numbers_are_rounded() -> None:
    with pytest.raises(Unrendered, match="only numbers can be rounded"):
        ChatTemplate("{{ [1]|round(9, 'floor') }}").render(TALK, {})


def test_work_that_grows_as_a_square_is_counted_so() -> None:
    """1,024 keys may share one place of a dictionary: 1,024 x 1,024 comparisons are 1,024 steps."""
    budget = Budget()
    count_squares(budget, range(1024))
    assert STEPS - budget.left == 1024
    count_squares(budget, dict.fromkeys(range(31)))
    assert STEPS - budget.left == 1024
