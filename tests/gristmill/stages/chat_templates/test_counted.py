"""What a template's own expressions cost: each is counted where it is written."""

import jinja2
import pytest

from gristmill.stages.chat_templates.budget import STEPS
from gristmill.stages.chat_templates.sandbox import TemplateSandbox

COSTS = {
    "{% set y = {x: 1} %}": 10,
    "{% set y = {'a': 1} %}": 0,
    "{% set y = x == 1 %}": 0,
    "{% set y = x == x %}": 20,
    "{% set y = x in [] %}": 10,
    "{% set y = 'a' in x %}": 10,
    "{% set y = x[1:] %}": 0,
    "{% for y in x %}{% endfor %}": 10,
    "{% set y = {" + ",".join(f"{number}:1" for number in range(64)) + "} %}": 4,
}
"""Steps of expressions in which x is a tuple of ten numbers. 64 keys make 64 x 64 pairs; 1,024 pairs are one step."""


@pytest.mark.parametrize("template", COSTS)
def test_an_expression_is_counted(template: str) -> None:
    sandbox = TemplateSandbox(jinja2.StrictUndefined, [])
    compiled = sandbox.from_string(template)
    sandbox.budget.reset_for_rendering()
    assert compiled.render(x=tuple(range(10))) == ""
    assert STEPS - sandbox.budget.left == COSTS[template]
