"""Templates that would make more text or numbers than a machine has: each is told before it does."""

import pytest

from gristmill.stages.chat_templates.budget import Unrendered
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
"""


@pytest.mark.parametrize("template", BOMBS.strip().split("\n"))
def test_a_template_that_would_make_too_much_is_an_error_of_its_row(template: str) -> None:
    with pytest.raises(Unrendered, match=r"^not bounded: "):
        ChatTemplate(template).render(TALK, {})


def test_only_known_methods_are_called() -> None:
    for call in ("'a'.encode()", "'a'.translate({97: 'b'})", "(5).bit_length()", "(1.5).is_integer()"):
        with pytest.raises(Unrendered, match=r"^not rendered: templates may not call \w+\.\w+"):
            ChatTemplate("{{ " + call + " }}").render(TALK, {})
