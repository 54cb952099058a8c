"""Ten small chat templates. Each has the constructs of one family's published template, but none of its texts."""
# ruff: noqa: E501 - lines as long as in the published templates

QWEN3 = """
{%- if tools %}
    {{- '<|start|>system\\n' }}
    {%- if messages[0].role == 'system' %}{{- messages[0].content + '\\n\\n' }}{%- endif %}
    {%- for tool in tools %}{{- "\\n" }}{{- tool | tojson }}{%- endfor %}
    {{- "<|eot|>\\n" }}
{%- endif %}
{%- set ns = namespace(searching=true, last=messages|length - 1) %}
{%- for message in messages[::-1] %}
    {%- set index = (messages|length - 1) - loop.index0 %}
    {%- if ns.searching and message.role == "user" and message.content is string and not(message.content.startswith('<r>') and message.content.endswith('</r>')) %}
        {%- set ns.searching = false %}{%- set ns.last = index %}
    {%- endif %}
{%- endfor %}
{%- for message in messages %}
    {%- set content = message.content if message.content is string else '' %}
    {%- if message.role == "user" or (message.role == "system" and not loop.first) %}
        {{- '<|start|>' + message.role + '\\n' + content + '<|eot|>' + '\\n' }}
    {%- elif message.role == "assistant" %}
        {%- set thought = '' %}
        {%- if message.reasoning_content is string %}
            {%- set thought = message.reasoning_content %}
        {%- elif '</think>' in content %}
            {%- set thought = content.split('</think>')[0].rstrip('\\n').split('<think>')[-1].lstrip('\\n') %}
            {%- set content = content.split('</think>')[-1].lstrip('\\n') %}
        {%- endif %}
        {{- '<|start|>' + message.role + '\\n' }}{%- generation %}
        {%- if loop.index0 > ns.last and (loop.last or thought) %}
            {{- '<think>\\n' + thought.strip('\\n') + '\\n</think>\\n\\n' + content.lstrip('\\n') }}
        {%- else %}{{- content }}{%- endif %}
        {%- if message.tool_calls %}
            {%- for call in message.tool_calls %}
                {%- if call.function %}{%- set call = call.function %}{%- endif %}
                {{- '<call>' + call.name + ' ' }}
                {%- if call.arguments is string %}{{- call.arguments }}{%- else %}{{- call.arguments | tojson }}{%- endif %}
            {%- endfor %}
        {%- endif %}
        {{- '<|eot|>' }}{%- endgeneration %}{{- '\\n' }}
    {%- elif message.role == "tool" %}
        {%- if loop.first or (messages[loop.index0 - 1].role != "tool") %}{{- '<|start|>user' }}{%- endif %}
        {{- '\\n<r>' ~ content ~ '</r>' }}
        {%- if loop.last or (messages[loop.index0 + 1].role != "tool") %}{{- '<|eot|>\\n' }}{%- endif %}
    {%- endif %}
{%- endfor %}
"""
LLAMA = """{{- bos_token }}
{%- if not tools is defined %}{%- set tools = none %}{%- endif %}
{%- if not date_string is defined %}{%- set date_string = "26 Jul" %}{%- endif %}
{%- if messages[0]['role'] == 'system' %}
    {%- set system = messages[0]['content']|trim %}{%- set messages = messages[1:] %}
{%- else %}{%- set system = "" %}{%- endif %}
{{- "<|start|>system<|end|>\\n\\n" + date_string + "\\n" + system }}
{%- if tools is not none %}{%- for t in tools %}{{- t | tojson(indent=4) }}{%- endfor %}{%- endif %}{{- "<|eot|>" }}
{%- for message in messages %}
    {%- if not (message.role == 'ipython' or message.role == 'tool' or 'tool_calls' in message) %}
        {{- '<|start|>' + message['role'] + '<|end|>\\n\\n' }}
        {%- if message.role == 'assistant' %}{%- generation %}{{- message['content'] | trim }}{{- '<|eot|>' }}{%- endgeneration %}
        {%- else %}{{- message['content'] | trim + '<|eot|>' }}{%- endif %}
    {%- elif 'tool_calls' in message %}
        {%- if not message.tool_calls|length == 1 %}{{- raise_exception("one call") }}{%- endif %}
        {%- set call = message.tool_calls[0].function %}
        {{- '<|start|>assistant<|end|>\\n\\n' }}{%- generation %}{{- '{"name": "' + call.name + '", ' }}{{- call.arguments | tojson }}{{- "}<|eot|>" }}{%- endgeneration %}
    {%- else %}
        {{- "<|start|>ipython<|end|>\\n\\n" }}
        {%- if message.content is mapping or message.content is iterable and message.content is not string %}{{- message.content | tojson }}{%- else %}{{- message.content }}{%- endif %}{{- "<|eot|>" }}
    {%- endif %}
{%- endfor %}"""
MISTRAL = """
{%- if messages[0]["role"] == "system" %}{%- set system = messages[0]["content"] %}{%- set turns = messages[1:] %}
{%- else %}{%- set turns = messages %}{%- endif %}
{%- set users = turns | selectattr("role", "equalto", "user") | list %}
{%- set calls = turns | selectattr("tool_calls", "defined") | list %}
{%- set ns = namespace(index=0) %}
{%- for message in turns %}
    {%- if message.role == "user" or (message.role == "assistant" and not message.tool_calls) %}
        {%- if (message["role"] == "user") != (ns.index % 2 == 0) %}{{- raise_exception("roles must alternate") }}{%- endif %}
        {%- set ns.index = ns.index + 1 %}
    {%- endif %}
{%- endfor %}
{{- bos_token }}{{- calls|length }}
{%- for message in turns %}
    {%- if message["role"] == "user" %}
        {%- if tools is defined and tools is not none and (message == users[-1]) %}
            {{- "[" }}{%- for tool in tools %}{%- for key, value in tool.function.items() if key != "return" %}
                {%- if value is string %}{{- '"' + key + '": "' + value + '"' }}{%- else %}{{- '"' + key + '": ' + value|tojson }}{%- endif %}
                {%- if not loop.last %}, {% endif %}
            {%- endfor %}{%- if not loop.last %}, {% endif %}{%- endfor %}{{- "]" }}
        {%- endif %}
        {%- if loop.last and system is defined %}{{- system + "\\n\\n" + message["content"] }}{%- else %}{{- "[I] " ~ message["content"] }}{%- endif %}
    {%- elif message.tool_calls is defined and message.tool_calls is not none %}
        {%- generation %}{{- "[C]" }}{%- for call in message.tool_calls %}
            {%- set out = call.function|tojson %}{{- out[:-1] }}
            {%- if not call.id is defined or call.id|length != 9 %}{{- raise_exception("ids of length 9") }}{%- endif %}
            {{- ', "id": "' + call.id + '"}' }}
        {%- endfor %}{{- eos_token }}{%- endgeneration %}
    {%- elif message["role"] == "assistant" %}
        {%- generation %}{{- " " + message["content"]|trim + eos_token }}{%- endgeneration %}
    {%- elif message["role"] in ["tool_results", "tool"] %}
        {%- if message.content is defined and message.content.content is defined %}{%- set content = message.content.content %}{%- else %}{%- set content = message.content %}{%- endif %}
        {{- '[R]{"content": ' + content|string + "}" }}
    {%- else %}{{- raise_exception("unknown role") }}{%- endif %}
{%- endfor %}
"""
GEMMA = """{{ bos_token }}
{%- if messages[0]['role'] == 'system' -%}
    {%- if messages[0]['content'] is string -%}{%- set first = messages[0]['content'] + '\\n\\n' -%}
    {%- else -%}{%- set first = messages[0]['content'][0]['text'] + '\\n\\n' -%}{%- endif -%}
    {%- set turns = messages[1:] -%}
{%- else -%}{%- set first = "" -%}{%- set turns = messages -%}{%- endif -%}
{%- for message in turns -%}
    {%- if (message['role'] == 'user') != (loop.index0 % 2 == 0) -%}{{ raise_exception("user/assistant/user") }}{%- endif -%}
    {%- if (message['role'] == 'assistant') -%}{%- set role = "model" -%}{%- else -%}{%- set role = message['role'] -%}{%- endif -%}
    {{ '<|start|>' + role + '\\n' + (first if loop.first else "") }}
    {%- set text -%}
    {%- if message['content'] is string -%}{{ message['content'] | trim }}
    {%- elif message['content'] is iterable -%}
        {%- for item in message['content'] -%}{%- if item['type'] == 'text' -%}{{ item['text'] | trim }}{%- endif -%}{%- endfor -%}
    {%- else -%}{{ raise_exception("Invalid content type") }}{%- endif -%}
    {%- endset -%}
    {%- if role == "model" -%}{% generation %}{{ text }}{{ '<|eot|>\\n' }}{% endgeneration %}
    {%- else -%}{{ text }}{{ '<|eot|>\\n' }}{%- endif -%}
{%- endfor -%}
"""
PHI = """{% for message in messages %}{% if message['role'] == 'system' and 'tools' in message and message['tools'] is not none %}\
{{ '<|' + message['role'] + '|>' + message['content'] + message['tools'] + '<|eot|>' }}{% elif message['role'] == 'assistant' %}\
{{ '<|' + message['role'] + '|>' }}{% generation %}{{ message['content'] + '<|eot|>' }}{% endgeneration %}{% else %}\
{{ '<|' + message['role'] + '|>' + message['content'] + '<|eot|>' }}{% endif %}{% endfor %}"""
DEEPSEEK = """{% set ns = namespace(is_first=false, is_tool=false, outputs_first=true, system='') %}\
{%- for message in messages %}{%- if message['role'] == 'system' %}{% set ns.system = message['content'] %}{%- endif %}{%- endfor %}\
{{bos_token}}{{ns.system}}{%- for message in messages %}{%- if message['role'] == 'user' %}{%- set ns.is_tool = false -%}\
{{'<|start|>' + message['content']}}{%- endif %}\
{%- if message['role'] == 'assistant' and message['tool_calls'] is defined and message['tool_calls'] is not none %}{%- set ns.is_tool = false -%}\
{%- for tool in message['tool_calls'] %}{% generation %}{{'<call>' + tool['type'] + '<sep>' + tool['function']['name'] + '\\n' + tool['function']['arguments'] | tojson}}{% endgeneration %}{%- endfor %}{%- endif %}\
{%- if message['role'] == 'assistant' and message['content'] is not none and not message['tool_calls'] %}{%- if ns.is_tool %}{{'<outputs>'}}{%- set ns.is_tool = false -%}{%- endif %}\
{% set content = message['content'] %}{% if '</think>' in content %}{% set content = content.split('</think>')[-1] %}{% endif %}\
{{'<|end|>'}}{% generation %}{{ content + eos_token }}{% endgeneration %}{%- endif %}\
{%- if message['role'] == 'tool' %}{%- set ns.is_tool = true -%}{%- if ns.outputs_first %}{{'<out>' + message['content']}}{%- set ns.outputs_first = false %}{%- else %}{{'\\n<out>' + message['content']}}{%- endif %}{%- endif %}{%- endfor -%}"""
TULU = """{% for message in messages %}{% if message['role'] == 'assistant' %}{% if not loop.last %}{{ '<|assistant|>\\n' }}{% generation %}{{ message['content'] + eos_token }}{% endgeneration %}{{ '\\n' }}\
{% else %}{{ '<|assistant|>\\n' }}{% generation %}{{ message['content'] + eos_token }}{% endgeneration %}{% endif %}\
{% else %}{{ '<|' + message['role'] + '|>\\n' + message['content'] + '\\n' }}{% endif %}\
{% if loop.last and add_generation_prompt %}{{ '<|assistant|>\\n' }}{% endif %}{% endfor %}"""
GRANITE = """
{%- if messages[0]['role'] == 'system' %}{%- set system = messages[0]['content'] %}{%- set turns = messages[1:] %}
{%- else %}{%- set system = "Plain." %}{%- if tools and documents %}{%- set system = system + " Tools and documents." %}{%- elif tools %}{%- set system = system ~ " Tools." %}{%- endif %}{%- set turns = messages %}{%- endif %}
{{- '<|start|>system<|end|>' + system + '<|eot|>\\n' }}
{%- if tools %}{{- '<|start|>tools<|end|>' }}{{- tools | tojson(indent=4) }}{{- '<|eot|>\\n' }}{%- endif %}
{%- if documents %}{%- for document in documents %}{{- document['text'] }}{%- endfor %}{%- endif %}
{%- for message in turns %}
    {{- '<|start|>' + message['role'] + '<|end|>' }}
    {%- if message['role'] == 'assistant' %}{%- generation %}{{- message['content'] }}{{- '<|eot|>\\n' }}{%- endgeneration %}
    {%- else %}{{- message['content'] + '<|eot|>\\n' }}{%- endif %}
{%- endfor %}"""
HERMES = """
{%- macro kind(spec) -%}
    {%- if spec.type == "array" -%}{{- "list[" + kind(spec["items"]) + "]" -}}
    {%- elif spec.enum is defined -%}{{- spec.enum | join("|") -}}
    {%- else -%}{{- spec.type | default("any") -}}{%- endif -%}
{%- endmacro -%}
{%- macro said(message) -%}{% generation %}{{ message.content or '' }}{% if message.tool_calls %}{% for call in message.tool_calls %}{{ '<c>' ~ call.function.name ~ call.function.arguments | tojson }}{% endfor %}{% endif %}<|eot|>{% endgeneration %}{%- endmacro -%}
{%- if tools is iterable and tools | length > 0 %}
    {%- for tool in tools %}{%- if tool.function is defined %}{%- set tool = tool.function %}{%- endif %}
        {{- "def " + tool.name + "(" }}{%- for name, spec in tool.parameters.properties.items() %}{{- name + ": " + kind(spec) }}{%- if not loop.last %}, {% endif %}{%- endfor %}{{- ")\\n" }}
    {%- endfor %}
{%- endif %}
{%- for message in messages %}
    {{- '<|start|>' ~ message.role ~ '\\n' }}
    {%- if message.role == "assistant" %}{{- said(message) }}{%- else %}{{- message.content ~ '<|eot|>' }}{%- endif %}{{- '\\n' }}
{%- endfor %}"""
SMOL = """
{%- if enable_thinking is not defined -%}{%- set enable_thinking = true -%}{%- endif -%}
{%- set mode = "/think" if enable_thinking else "/no_think" -%}
{%- set custom = messages[0].content.replace("/no_think", "").replace("/think", "").rstrip() if messages[0].role == "system" else "" -%}
{{- "<|start|>system\\n" -}}{{- mode + "\\n" + custom.strip() -}}
{%- if tools is defined and tools -%}{%- for tool in tools -%}{{- (tool | string)[:40] -}}{%- endfor -%}{%- endif -%}{{- "<|eot|>\\n" -}}
{%- for message in messages -%}
    {%- set content = message.content if message.content is string else "" -%}
    {%- if message.role == "user" -%}{{ "<|start|>" + message.role + "\\n" + content + "<|eot|>\\n" }}
    {%- elif message.role == "assistant" -%}
        {% generation %}{%- if message.reasoning_content -%}{{ "<|start|>assistant\\n<think>" + message.reasoning_content.strip() + "</think>" + content.lstrip("\\n") + "<|eot|>\\n" }}
        {%- else -%}{{ "<|start|>assistant\\n" + content.lstrip("\\n") + "<|eot|>\\n" }}{%- endif -%}{% endgeneration %}
    {%- elif message.role == "tool" -%}{{ "<|start|>user\\n" + content + "<|eot|>\\n" }}{%- endif -%}
{%- endfor -%}"""

FAMILIES = {
    "deepseek": DEEPSEEK,
    "gemma": GEMMA,
    "granite": GRANITE,
    "hermes": HERMES,
    "llama": LLAMA,
    "mistral": MISTRAL,
    "phi": PHI,
    "qwen3": QWEN3,
    "smol": SMOL,
    "tulu": TULU,
}
