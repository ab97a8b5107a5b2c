#!/usr/bin/env python3
"""Writes tests/data/template/golden.json: small templates and what Python's jinja2 makes of them.

Each case is {"group", "source", "text"}, or "raises" with the exception's class and, for syntax errors, "line".
All cases see the variables of VARIABLES. Run with jinja2 3.1 installed: make_template_golden.py > golden.json
"""

import json
import sys

import jinja2
import jinja_reference

VARIABLES = {
    "n": 7, "neg": -3, "f": 2.5, "big": 1e16, "small": 1e-5, "t": True, "none": None, "s": "Hello World",
    "uni": "Gr\u00fc\u00dfe \u4f60\u597d \U0001f600", "sp": "  x \n", "html": "<a href=\"x\">'&'</a>",
    "l": [3, 1, 2], "words": ["pear", "Apple", "fig", "apple"], "e": [], "d": {"b": 1, "a": 2, "C": 3},
    "users": [{"name": "Ann", "age": 30, "tags": ["x"]}, {"name": "bob", "age": 25, "tags": []},
              {"name": "Cid", "age": 30}],
    "nested": {"list": [1, 2.0, True, None, "x\"y\n\u00e9"], "dict": {"k": {"z": []}}, "empty": {}},
    "schema": {"items": {"type": "string"}, "keys": 1}, "lines": "a\nb\r\nc\n\nd",
}

CASES = {
    "output": [
        "{{ n }} {{ f }} {{ big }} {{ small }} {{ t }} {{ none }} {{ s }}", "{{ l }} {{ d }} {{ nested }}",
        "{{ (1, 2) }} {{ (1,) }} {{ () }} {{ 1, 2 }}", "{{ 'it\\'s' }} {{ ['it\\'s', '\"', 'a\\tb\\x00\\u00e9'] }}",
        "{{ 1.0 }} {{ 1e15 }} {{ 1e22 }} {{ 0.1 + 0.2 }} {{ 1/3 }} {{ 123456789.125 }} {{ -0.0 }} {{ 5e-324 }}",
        "{{ 1_000 }} {{ 0x1F }} {{ 0b101 }} {{ 0o17 }} {{ 1_0.5e1 }} {{ 00 }}", "{{ 'a' 'b' \"c\" }}",
        "{{ '\\x41\\u00e9\\U0001F600\\101\\q\\\\' }}", "{{ uni }} {{ [uni] }}", "{{ range(3) }} {{ range(1, 9, 2) }}",
        "{{ d.items() }} {{ d.keys() }} {{ d.values() }}", "{{ true }} {{ True }} {{ false }} {{ None }}",
        "{{ namespace(a=1, b='x') }}", "{# comment #}x{# multi\nline #}y", "{{ {'a': 1, 2: [3], none: true} }}",
        "{{ ['\\u200b', '\\x7f', '\\u3000', 'a\\\\b'] }}", "{{ [1.5, 1e100, -2.0] }}", "{{ {'a': 1, 'a': 2, 1: 1, true: 2} }}",
    ],
    "whitespace": [
        "a\n{% if t %}\nb\n{% endif %}\nc\n", "a\n  {% if t %}  \n  b\n  {% endif %}\nc", "a {%- if t -%} b {%- endif -%} c",
        "a\n  {%+ if t %}b{% endif +%}\nc", "  {{ n }}  \n  {{ n }}\n", "{{- n -}}  x  {{- n }}", "a  {#- c -#}  b",
        "a\n  {# c #}\nb", "x\n\n", "x\n", "x\r\ny\rz\r\n", "{% raw %}{{ n }} {% if %}{% endraw %}!", "a {%- raw -%} {{ x }} {%- endraw -%} b",
        "a\n  {% raw %}\n  r\n  {% endraw %}\nb", "{% for i in l %}\n  {{ i }}\n{% endfor %}\nend",
        "{%- for i in l -%}\n  {{ i }}\n{%- endfor -%}\nend", "a {% if t %} b {% endif %} c", "{% set x = 1 %}\n\n{{ x }}",
        "\t{% if t %}\tx\t{% endif %}\n", "{{ '  keep\\n' }}\n{{ n }}", "{{ n -}}\n\n  y", "a\n\t {%- set q = 1 %}\n b",
        "text with { single } braces %} }} #}", "{{ '}}' }}{{ '%}' }}", "{{ {'a': {'b': 1}} }}", "{{ n}}{{n }}", "{%if t%}x{%endif%}",
        "a\u00a0{%- if t %}b{% endif %}", "{% if t %}x{% endif %}\n{% if t %}y{% endif %}\n",
        "{#+ c +#}\nz", "{% raw %}\nx{% endraw %}\ny", "  {% raw +%} z {% endraw %}", "{{ '\\n' }}\n  {% if t %}a{% endif %}",
    ],
    "statements": [
        "{% if n > 5 %}a{% elif n > 3 %}b{% else %}c{% endif %}", "{% if e %}a{% elif none %}b{% else %}c{% endif %}",
        "{% for i in l %}{{ loop.index }}{{ loop.index0 }}{{ loop.revindex }}{{ loop.revindex0 }}{{ loop.first }}{{ loop.last }}{{ loop.length }};{% endfor %}",
        "{% for i in l %}{{ loop.previtem }}<{{ i }}>{{ loop.nextitem }} {% endfor %}", "{% for i in l %}{{ loop.cycle('a', 'b') }}{% endfor %}",
        "{% for i in [1, 1, 2] %}{{ loop.changed(i) }}{% endfor %}", "{% for i in e %}x{% else %}empty{% endfor %}",
        "{% for i in l if i > 1 %}{{ i }}:{{ loop.length }}{% else %}none{% endfor %}", "{% for i in l if i > 9 %}{{ i }}{% else %}none{% endfor %}",
        "{% for k, v in d.items() %}{{ k }}={{ v }};{% endfor %}", "{% for k in d %}{{ k }}{% endfor %}", "{% for (a, b), c in [((1, 2), 3)] %}{{ a }}{{ b }}{{ c }}{% endfor %}",
        "{% for i in range(9) %}{% if i == 2 %}{% continue %}{% endif %}{% if i == 5 %}{% break %}{% endif %}{{ i }}{% endfor %}",
        "{% for c in 'abc' %}{{ c }}-{% endfor %}", "{% set x = 1 %}{% for i in l %}{% set x = x + 1 %}{{ x }}{% endfor %}{{ x }}",
        "{% set ns = namespace(x=1) %}{% for i in l %}{% set ns.x = ns.x + i %}{% endfor %}{{ ns.x }}", "{% set a, b = 1, 2 %}{{ a }}{{ b }}",
        "{% if t %}{% set y = 5 %}{% endif %}{{ y }}", "{% set x %}a{{ n }}b{% endset %}[{{ x }}]", "{% set x | upper | replace('A', 'z') %}a{{ n }}b{% endset %}[{{ x }}]",
        "{% set x %}{% set inner = 1 %}{% endset %}{{ inner is defined }}", "{% with a = 1, b = n %}{{ a }}{{ b }}{% endwith %}{{ a is defined }}",
        "{% filter upper %}a{{ s }}{% endfilter %}", "{% filter trim | upper %} a {% endfilter %}|",
        "{% macro m(a, b=2, c='x') %}{{ a }}{{ b }}{{ c }};{% endmacro %}{{ m(1) }}{{ m(1, c=3) }}{{ m(b=5, a=4) }}{{ m() }}",
        "{% macro m() %}{{ varargs }}{{ kwargs }}{% endmacro %}{{ m(1, 2, x=3) }}", "{% macro m(a) %}<{{ a }}{{ caller() }}>{% endmacro %}{% call m(1) %}body{{ n }}{% endcall %}",
        "{% macro m(xs) %}{% for x in xs %}{{ caller(x, loop.index) }}{% endfor %}{% endmacro %}{% call(x, i=9) m(l) %}{{ i }}:{{ x }} {% endcall %}",
        "{% macro fact(k) %}{{ k if k <= 1 else k * fact(k - 1) | int }}{% endmacro %}{{ fact(5) }}", "{% macro m(a, b=a) %}{{ b }}{% endmacro %}{{ m(3) }}",
        "{% macro m() %}{{ later }}{% endmacro %}{% set later = 4 %}{{ m() }}", "{% macro m() %} x {% endmacro %}[{{ m() | trim }}] {{ m.name }}",
        "{% for x in [[1, [2]], [3]] recursive %}{{ loop.depth }}{% for y in x %}{% if y is iterable %}{{ 'r' }}{% else %}{{ y }}{% endif %}{% endfor %};{% endfor %}",
        "{% for x in [{'v': 1, 'c': [{'v': 2, 'c': []}]}] recursive %}{{ x.v }}({{ loop(x.c) }}){{ loop.depth0 }}{% endfor %}",
        "{% generation %}a{{ n }}{% set g = 1 %}{% endgeneration %}{{ g is defined }}", "{% print n, s %}",
        "{% for i in l %}{% for j in l %}{{ loop.index }}{% endfor %}{{ loop.index }} {% endfor %}", "{% set loop = 5 %}{% for i in [1] %}{{ loop.index }}{% endfor %}{{ loop }}",
        "{% if t: %}x{% endif %}", "{% for u in users %}{{ u.name }}{% if not loop.last %}, {% endif %}{% endfor %}",
        "{% set c = cycler(1, 2) %}{{ c.next() }}{{ c.next() }}{{ c.next() }}{{ c.current }}", "{% set j = joiner('|') %}{% for i in l %}{{ j() }}{{ i }}{% endfor %}",
        "{{ dict(a=1, b=2) }}{{ dict([('x', 1)], y=2) }}", "{{ range(5) | list }}{{ range(5, 1, -2) | list }}", "{% set ns = namespace() %}{% set ns.a = [1] %}{{ ns.a[0] }}{{ ns.zz is defined }}",
        "{{ strftime_now('%Y-%m-%d %H:%M:%S %A %j %B %d') }}", "{% for i in l %}{% set last = i %}{% endfor %}{{ last is defined }}",
        "{% set f2 = l | first %}{{ f2 }}", "{% for x in l | sort | reverse %}{{ x }}{% endfor %}", "{% for x in users | selectattr('age', 'eq', 30) %}{{ loop.index }}/{{ loop.length }}{{ x.name }}{{ loop.last }} {% endfor %}",
        "{% macro a() %}{% macro b() %}in{% endmacro %}{{ b() }}{% endmacro %}{{ a() }}", "{% for i in l %}{% macro q() %}{{ i }}{% endmacro %}{{ q() }}{% endfor %}",
        "{% for x in none_such %}a{% else %}b{% endfor %}", "{{ m2(1) if m2 is defined else 'no' }}",
    ],
    "operators": [
        "{{ 7 // 2 }} {{ -7 // 2 }} {{ 7 % 3 }} {{ -7 % 3 }} {{ 7 % -3 }} {{ 7 / 2 }} {{ 2 ** 10 }} {{ 2 ** -1 }} {{ 7.5 // 2 }} {{ -7.5 % 2 }}",
        "{{ 1 + 2 * 3 - 4 / 2 }} {{ (1 + 2) * 3 }} {{ -n }} {{ +n }} {{ - -n }}", "{{ 2 ** 3 ** 2 }}", "{{ -2 ** 2 }}", "{{ 10 - 3 - 2 }}", "{{ 'a' * 3 }} {{ [1] * 2 }} {{ 2 * 'b' }} {{ 'c' * -1 }}",
        "{{ 'a' + 'b' }} {{ [1] + [2] }} {{ (1,) + (2,) }}", "{{ 'a' ~ 1 ~ none ~ 1.5 ~ [1] ~ undefined_name }}", "{{ 1 < 2 < 3 }} {{ 1 < 3 < 2 }} {{ 1 == 1.0 == true }}",
        "{{ 'a' < 'b' }} {{ 'Z' < 'a' }} {{ [1, 2] < [1, 3] }} {{ (1, 'a') < (1, 'b') }} {{ 2 >= 2 }} {{ 2 <= 1.5 }}", "{{ 1 == '1' }} {{ none == none }} {{ [1, 'a'] == [1, 'a'] }} {{ {'a': 1} == {'a': 1.0} }}",
        "{{ 'ell' in s }} {{ 2 in l }} {{ 'a' in d }} {{ 9 not in l }} {{ 'x' in none_such }} {{ (1, 2) in [(1, 2)] }} {{ 3 in range(4) }}",
        "{{ t and 'x' }} {{ e or 'y' }} {{ 0 or none }} {{ not e }} {{ not 'a' and t }} {{ 1 and 0 or 2 }}", "{{ 'a' if t else 'b' }} {{ 'a' if e else 'b' }} {{ 'a' if e }} {{ 1 if e else 2 if e else 3 }}",
        "{{ l[0] }} {{ l[-1] }} {{ l[9] }} {{ d['a'] }} {{ d.a }} {{ d['zz'] }} {{ s[1] }} {{ uni[6] }} {{ (1, 2)[1] }} {{ l.0 }}", "{{ l[1:] }} {{ l[:-1] }} {{ l[::-1] }} {{ l[::2] }} {{ s[2:5] }} {{ s[::-1] }} {{ uni[6:8] }} {{ uni[-1] }} {{ s[-5:] }} {{ s[5:2] }} {{ l[-99:99] }}",
        "{{ range(10)[2:8:3] }} {{ range(10)[-1] }} {{ l[true] }} {{ l['a'] }}", "{{ users[0].name }} {{ users[0]['tags'][0] }} {{ users[2].tags }}", "{{ schema.items is callable }} {{ schema['items'] }} {{ schema.keys() | list }}",
        "{{ 5 is odd and 4 is even }} {{ not n is odd }} {{ n is not odd }}", "{{ n | string + 'x' }} {{ -n | abs }} {{ 2 + n | abs }}", "{{ '%s-%05d-%.2f-%r-%x' % ('a', 42, 3.14159, 'q', 255) }} {{ '%s' % n }} {{ '%(a)s %(b)d' % {'a': 1, 'b': 2} }} {{ '100%%' % () }} {{ '%5s|%-5s|%+d' % ('a', 'b', 3) }}",
        "{{ 1.5 + 1 }} {{ true + true }} {{ 3 * 1.5 }} {{ 1e3 }} {{ 7 // 2.0 }} {{ 9 % 2.5 }}", "{{ 'a' is in ['a'] }} {{ 'a' == 'a' != 'b' }}", "{{ ('x' if n else 'y') ~ 'z' }}", "{{ 1 if 0 }}", "{{ [1, 2, 3][n - 6] }}", "{{ (l | length) * 2 }}",
        "{{ -3 // 2 }} {{ (-3) // 2 }} {{ 3 // -2 }} {{ -1 ** 2 }} {{ 0.1 * 3 }} {{ 1e300 * 1e10 }} {{ 1 - 1e-17 }}",
    ],
    "filters": [
        "{{ -5 | abs }} {{ neg | abs }} {{ -2.5 | abs }}", "{{ l | batch(2) | list }} {{ l | batch(2, 0) | list }}", "{{ 'hELLO wORLD' | capitalize }} {{ uni | capitalize }}", "[{{ 'ab' | center(7) }}] [{{ 'abc' | center(6) }}] [{{ 'ab' | center(5) }}]",
        "{{ none_such | default('x') }} {{ e | default('x') }} {{ e | default('x', true) }} {{ none | d('y') }} {{ none_such | d }}|{{ n | default(1) }} {{ none_such | default(default_value=3) }}",
        "{{ d | dictsort }} {{ d | dictsort(true) }} {{ d | dictsort(false, 'value') }} {{ d | dictsort(reverse=true) }}", "{{ html | escape }} {{ html | e }} {{ html | escape | escape }} {{ html | forceescape }}", "{{ l | first }} {{ e | first }} {{ 'abc' | first }} {{ l | last }} {{ e | last }} {{ 'abc' | last }} {{ d | first }}",
        "{{ '3.7' | float }} {{ 'x' | float }} {{ 'x' | float(1.5) }} {{ 3 | float }} {{ '1e3' | float }} {{ ' 2 ' | float }} {{ '1_0' | float }}", "{{ '%s and %d' | format('a', 3) }} {{ '%(x)s' | format(x=1) }}", "{{ users | groupby('age') }}",
        "{{ users | groupby('age') | map('first') | list }}", "{{ 'a\nb\n\nc' | indent }}|{{ 'a\nb' | indent(2, true) }}|{{ 'a\n\nb' | indent(width=3, blank=true) }}|{{ 'a\nb' | indent('> ') }}|{{ 'a\n' | indent }}|{{ '' | indent(2, first=true) }}",
        "{{ '42' | int }} {{ 'x' | int }} {{ 'x' | int(-1) }} {{ 3.9 | int }} {{ -3.9 | int }} {{ '3.9' | int }} {{ 'ff' | int(0, 16) }} {{ '0x1A' | int(base=16) }} {{ true | int }} {{ ' 7 ' | int }} {{ '1_000' | int }} {{ none | int }} {{ '0b11' | int(0, 2) }} {{ '-12' | int }} {{ [] | int }}",
        "{{ l | join }} {{ l | join(', ') }} {{ users | join('-', attribute='name') }} {{ 'abc' | join('.') }} {{ [none, true, 1.5] | join('|') }} {{ none_such | join }} {{ d | join(',') }}", "{{ s | length }} {{ uni | length }} {{ l | length }} {{ d | count }} {{ none_such | length }} {{ range(7) | length }} {{ d.items() | length }}",
        "{{ 'abc' | list }} {{ d | list }} {{ d.items() | list }} {{ none_such | list }} {{ (1, 2) | list }}", "{{ s | lower }} {{ s | upper }} {{ uni | upper }} {{ '\u00c4\u00d6\u00dc\u03a3' | lower }} {{ n | upper }} {{ none | lower }}", "{{ d | items | list }} {{ none_such | items | list }}",
        "{{ users | map(attribute='name') | list }} {{ users | map(attribute='tags.0', default='-') | list }} {{ words | map('upper') | list }} {{ words | map('replace', 'p', 'q') | join(' ') }} {{ l | map('string') | join('+') }} {{ [[1], [2]] | map('first') | list }}",
        "{{ l | min }} {{ l | max }} {{ e | min }} {{ words | min }} {{ words | max(case_sensitive=true) }} {{ users | max(attribute='age') }}", "{{ l | select('gt', 1) | list }} {{ [0, 1, none, 'a'] | select | list }} {{ l | reject('odd') | list }} {{ [0, 1] | reject | list }}",
        "{{ users | selectattr('age', 'equalto', 25) | map(attribute='name') | list }} {{ users | rejectattr('age', 'equalto', 25) | map(attribute='name') | list }} {{ users | selectattr('tags') | list | length }} {{ users | selectattr('tags', 'defined') | list | length }} {{ users | rejectattr('tags') | list | length }}",
        "{{ s | replace('o', '0') }} {{ s | replace('o', '0', 1) }} {{ 'aaa' | replace('a', 'b', 2) }} {{ 'ab' | replace('', '-') }} {{ 123 | replace('2', 'x') }} {{ 'abc' | replace('b', 5) }}", "{{ s | reverse }} {{ l | reverse | list }} {{ uni | reverse }}",
        "{{ 2.5 | round }} {{ 3.5 | round }} {{ 2.675 | round(2) }} {{ 2.1 | round(0, 'ceil') }} {{ 2.9 | round(method='floor') }} {{ 7 | round }} {{ 1234.5 | round(-2) }} {{ 2.25 | round(1) }} {{ 42.55 | round(1, 'floor') }}", "{{ '<b>' | safe }} {{ ('<b>' | safe) + '<i>' }} {{ '<x>' + ('<b>' | safe) }} {{ ('<b>' | safe) ~ '<i>' }} {{ '<' | safe | string }}",
        "{{ [1, 2, 3, 4, 5] | slice(2) | list }} {{ [1, 2, 3, 4, 5] | slice(3, 'x') | list }}", "{{ l | sort }} {{ l | sort(reverse=true) }} {{ words | sort }} {{ words | sort(case_sensitive=true) }} {{ users | sort(attribute='name') | map(attribute='name') | list }} {{ users | sort(attribute='age,name') | map(attribute='name') | list }} {{ 'cab' | sort }} {{ d | sort }}",
        "{{ n | string }}{{ [1] | string }}{{ none | string }}{{ none_such | string }}", "{{ l | sum }} {{ users | sum(attribute='age') }} {{ e | sum }} {{ l | sum(start=10) }} {{ [1.5, 2] | sum }} {{ [[1], [2]] | sum(start=[]) }}", "{{ 'hello wORLD-foo (bar) it\\'s' | title }}", "{{ sp | trim }}| {{ 'xxaxx' | trim('x') }} {{ '\u3000a\u00a0' | trim }} {{ 5 | trim }} {{ none_such | trim }}|",
        "{{ 'hello big world' | truncate(9) }} {{ 'hello big world' | truncate(9, true) }} {{ 'hello big world' | truncate(9, false, '..', 0) }} {{ 'short' | truncate(9) }} {{ 'hello big world' | truncate(11, leeway=2) }}", "{{ [1, 2, 1, 3, 2] | unique | list }} {{ words | unique | list }} {{ words | unique(case_sensitive=true) | list }} {{ users | unique(attribute='age') | map(attribute='name') | list }}",
        "{{ 'a b/c?d=\u00e9&' | urlencode }}", "{{ s | wordcount }} {{ 'a-b c_d 1' | wordcount }}", "{{ users[0] | attr('name') is defined }} {{ d | attr('items') is callable }}", "{{ l | map('string') | map('length') | sum }}", "{{ [3, 1] | sort | first }}{{ (1, 'a') | string }}", "{{ words | groupby('0') | list }}",
        "{% set it = l | map('string') %}{{ it | first }}{{ it | list }}{{ it | list }}", "{{ (l | reverse) is sequence }} {{ (l | map('string')) is iterable }} {{ (l | map('string')) is sequence }}",
    ],
    "json": [
        "{{ nested | tojson }}", "{{ nested | tojson(indent=2) }}", "{{ nested | tojson(indent=0) }}", "{{ nested | tojson(indent='\\t') }}", "{{ nested | tojson(ensure_ascii=true) }} {{ uni | tojson(true) }}", "{{ uni | tojson }} {{ html | tojson }}", "{{ d | tojson(sort_keys=true) }} {{ d | tojson(separators=(',', ':')) }} {{ d | tojson(indent=1, separators=(',', ': ')) }}",
        "{{ [1, 1.0, 1e16, 1e-7, true, none, 'x', (1, 2)] | tojson }} {{ [] | tojson }} {{ {} | tojson(indent=4) }} {{ [[], {}] | tojson(indent=2) }}", "{{ {1: 2, none: 3, true: 4, 1.5: 5} | tojson }}", "{{ '\\x00\\x1f\\x7f\\u2028\\\\/\\b\\f' | tojson }} {{ '\\x7f\\u2028' | tojson(ensure_ascii=true) }}", "{{ 'x' | tojson + 'y' }}", "{{ users | tojson }}",
        "{{ (1e308 * 10) | tojson }} {{ -(1e308 * 10) | tojson }} {{ 1e308 * 10 }}", "{{ users | map(attribute='name') | list | tojson(indent=2) }}",
    ],
    "tests": [
        "{{ n is defined }} {{ zz is defined }} {{ d.a is defined }} {{ d.zz is defined }} {{ zz is undefined }} {{ none is defined }}", "{{ none is none }} {{ n is none }} {{ t is boolean }} {{ n is boolean }} {{ t is true }} {{ 1 is true }} {{ false is false }} {{ 0 is false }}",
        "{{ n is integer }} {{ t is integer }} {{ f is integer }} {{ f is float }} {{ n is float }} {{ t is number }} {{ n is number }} {{ s is number }}", "{{ s is string }} {{ n is string }} {{ ('a' | safe) is string }} {{ d is mapping }} {{ l is mapping }} {{ zz is mapping }}",
        "{{ s is sequence }} {{ l is sequence }} {{ d is sequence }} {{ n is sequence }} {{ zz is sequence }} {{ d.items() is sequence }} {{ range(3) is sequence }} {{ none is sequence }}", "{{ s is iterable }} {{ n is iterable }} {{ zz is iterable }} {{ d is iterable }} {{ none is iterable }} {{ d.keys() is iterable }}",
        "{{ 3 is odd }} {{ 3 is even }} {{ -3 is odd }} {{ 9 is divisibleby 3 }} {{ 9 is divisibleby(2) }}", "{{ 'abc' is lower }} {{ 'Abc' is lower }} {{ 'ABC' is upper }} {{ '1' is upper }} {{ 'a1' is lower }}", "{{ 1 is eq 1 }} {{ 1 is equalto(2) }} {{ 1 is ne 2 }} {{ 1 is lt 2 }} {{ 1 is le 1 }} {{ 2 is gt 1 }} {{ 2 is ge 3 }} {{ 2 is greaterthan 1 }} {{ 1 is lessthan 1 }}",
        "{{ l is sameas l }} {{ [1] is sameas [1] }} {{ none is sameas none }} {{ true is sameas true }} {{ 1 is sameas true }}", "{{ 1 is in [1, 2] }} {{ 'a' is in 'abc' }} {{ 1 is not in [2] }}", "{{ range is callable }} {{ n is callable }} {{ s.upper is callable }} {{ ('a' | safe) is escaped }} {{ 'a' is escaped }}", "{{ 'upper' is filter }} {{ 'nope' is filter }} {{ 'odd' is test }} {{ 'nope' is test }}",
        "{{ n is not none and s is string }} {{ (n is defined) == true }}", "{% if not (zz is defined and zz) %}ok{% endif %}", "{{ l[9] is defined }} {{ users[2].tags is defined }}",
    ],
    "methods": [
        "{{ s.upper() }} {{ s.lower() }} {{ s.title() }} {{ 'it\\'s a tEST' .title() }} {{ 'abc DEF'.swapcase() }} {{ 'hELLO'.capitalize() }} {{ '\u00df\u1e9e'.casefold() }}", "[{{ sp.strip() }}] [{{ sp.lstrip() }}] [{{ sp.rstrip() }}] {{ 'xxabxx'.strip('x') }} {{ 'abcab'.lstrip('ab') }} {{ 'abcab'.rstrip('ba') }} {{ '  a '.strip(none) }}|",
        "{{ 'a,b,,c'.split(',') }} {{ ' a  b '.split() }} {{ 'a b c'.split(' ', 1) }} {{ 'a b c'.split(none, 1) }} {{ 'a b  c d'.split(maxsplit=2) }} {{ 'a,b,c'.rsplit(',', 1) }} {{ ' a  b  c '.rsplit(none, 1) }} {{ ''.split() }} {{ ''.split(',') }} {{ 'abc'.split('abc') }} {{ 'x'.rsplit() }} {{ 'a<b>c<b>d'.split('<b>')[-1] }}",
        "{{ lines.splitlines() }} {{ lines.splitlines(true) }} {{ 'a\\x0bb\\u2028c'.splitlines() }}", "{{ 'a-b-c'.partition('-') }} {{ 'a-b-c'.rpartition('-') }} {{ 'abc'.partition('-') }} {{ 'abc'.rpartition('-') }}", "{{ 'aXbX'.replace('X', 'y') }} {{ 'aXbX'.replace('X', 'y', 1) }} {{ 'ab'.replace('', '.') }} {{ 'aa'.replace('a', 'aa') }} {{ 'ab'.replace('', '.', 2) }}", "{{ ', '.join(['a', 'b']) }} {{ ''.join('abc') }} {{ '-'.join(d) }} {{ '.'.join(l | map('string')) }}",
        "{{ '{} {}'.format(1, 'a') }} {{ '{0}{1}{0}'.format('a', 'b') }} {{ '{x!r:>5}'.format(x='q') }} {{ '{:5}|{:<5}|{:^5}|{:>5}|{:*^7}'.format('a', 'b', 'c', 'd', 'e') }} {{ '{:05d} {:+d} {:x} {:,} {:.2f} {:e} {:%}'.format(42, 3, 255, 1234567, 3.14159, 12345.678, 0.25) }} {{ '{{}}'.format() }} {{ '{0.a} {0[b]} {1[0]}'.format(d, l) }} {{ '{:{}}|'.format('a', 4) }} {{ '{}'.format([1, 'x']) }}",
        "[{{ 'ab'.center(6) }}] [{{ 'ab'.center(5, '*') }}] [{{ 'ab'.ljust(5) }}] [{{ 'ab'.rjust(5, '.') }}] {{ '42'.zfill(5) }} {{ '-42'.zfill(5) }} {{ '+1'.zfill(1) }}", "{{ 'prefix-x'.removeprefix('prefix-') }} {{ 'x.txt'.removesuffix('.txt') }} {{ 'x'.removeprefix('y') }}", "{{ s.find('o') }} {{ s.rfind('o') }} {{ s.find('zz') }} {{ s.find('o', 5) }} {{ s.find('o', 0, 3) }} {{ s.index('W') }} {{ s.rindex('l') }} {{ uni.find('\u597d') }} {{ s.find('') }} {{ s.find('', 99) }}", "{{ s.count('l') }} {{ 'aaa'.count('aa') }} {{ s.count('') }} {{ s.count('l', 4) }}",
        "{{ s.startswith('Hello') }} {{ s.startswith('x') }} {{ s.endswith('World') }} {{ s.startswith(('a', 'H')) }} {{ s.endswith(('a',)) }} {{ s.startswith('World', 6) }} {{ s.endswith('Hello', 0, 5) }} {{ s.startswith('') }}", "{{ 'abc'.isalpha() }} {{ 'a1'.isalpha() }} {{ 'a1'.isalnum() }} {{ '12'.isdigit() }} {{ '\u00b2'.isdigit() }} {{ '\u00b2'.isdecimal() }} {{ '\u00bd'.isnumeric() }} {{ ' \\t'.isspace() }} {{ ''.isspace() }} {{ 'abc'.islower() }} {{ 'aB'.islower() }} {{ 'AB1'.isupper() }} {{ 'Ab Cd'.istitle() }} {{ 'ab'.istitle() }} {{ 'a\\n'.isprintable() }} {{ '\u00e9'.isascii() }} {{ ''.isalpha() }}",
        "{{ d.get('a') }} {{ d.get('zz') }} {{ d.get('zz', 5) }} {{ d.keys() | list }} {{ d.values() | list }} {{ d.items() | list }} {{ d.copy() }} {{ d.get(n, 'x') }}", "{{ l.index(1) }} {{ l.count(3) }} {{ l.copy() }} {{ (1, 2, 1).count(1) }} {{ (1, 2).index(2) }}", "{% for k, v in d.items() | list %}{{ k }}{{ loop.last }}{% endfor %}", "{{ s.split()[0].lower()[1:3] }}", "{{ '\u0130'.lower() | length }} {{ '\ufb01'.upper() }} {{ 'ΑΣ'.lower() }}",
        "{{ '{:012,}|{:013,}|{:+012,}|{:012_}|{:0=12,}|{:0<12,}|{:x=12,}'.format(1234, 1234, 1234, 1234, 1234, 1234, 1234) }}",
        "{{ '{:012,}|{:012,.2f}|{:010}|{:012,}'.format(-1234.5, 1234.5, big * 1e300, big * 1e300) }}",
        "{{ '{:08}|{:<08}|{:>08}|{:^06}|{:*^06}'.format('a', 'a', 'a', 'ab', 'ab') }}",
        "{{ '{:_x}|{:#_x}|{:_o}|{:012_b}|{:#012_b}|{:#012x}|{:_X}|{:#b}'.format(74565, 74565, 123456, 5, 5, 5, 3735928559, 5) }}",
        "{{ '{:5}|{:<5}|{}|{:d}|{:05}|{:}|{:x}|{:f}|{:,}'.format(true, true, true, true, true, true, true, true, true) }}",
        "{{ '{:n}|{:n}|{:c}|{:5c}|{:.3s}|{:.0%}|{:,%}|{:,g}|{:,e}'.format(5, 5.5, 97, 97, 'abcdef', 0.5, 1234.5, 123456, 123456) }}",
        "{{ '{:.3}|{:.3}|{:.3}|{:.1}|{:.4}|{:#.3}|{:#.3}|{:,.3}|{:#}'.format(123.0, 120.0, 12.0, 0.0, 12345678.0, 1.0, 123.0, 1234.0, 1.0) }}",
        "{{ '{:#.0f}|{:#g}|{:#.0e}|{:F}|{:E}|{:G}'.format(1, 1, 1, big * 1e300, 12345.5, 1e-10) }}",
        "{{ '{:06.2f}|{:+06}|{:<06}|{:^06}|{:*^06}|{:06}|{: }|{:-}'.format(-1.5, 5, 5, 5, 5, -5, 5, 5) }}",
        "{{ '%#g|%#.0f|%#.3g|%#e|%#.0e' % (1.0, 1, 0.5, 1.0, 1.0) }}",
        "{{ '%#x|%#o|%#X|%.3d|%#.5x|%08.3d|%-8.3d|%#08x|%+.3d' % (255, 8, 255, 5, 255, 5, 5, 255, 5) }}",
        "{{ '%c|%c|%5c|%05c|%-3c|' % ('a', 97, 'é', 'a', 'b') }}",
        "{{ '%ld|%hd|%Ld|%lu|%5.2lf' % (5, 5, 5, 5, 1.5) }}",
        "{{ '%010f|%05s|%.2s|%+s|% d|%#d|%i|%d' % (1e308 * 10, 'a', 'abc', 'a', 5, 5, 1.9, -1.9) }}",
        "{{ '%*d|%-*d|%*d|%.*f|%.*f' % (5, 3, 5, 3, -5, 3, 1, 2.25, -1, 1.5) }}",
        "{{ '%s%%' % 5 }}",
        "{{ ['٣' | int, '١.٥' | float, '１２' | int, '-४_०' | int, '\\U0001d7d7' | int, '²' | int, '①' | float] }}",
        "{{ '\\U000000df\\U00000149\\U000001f0\\U00000390\\U000003b0\\U00000587\\U00001e96\\U00001e97\\U00001e98\\U00001e99\\U00001e9a\\U00001e9e\\U00001f50\\U00001f52\\U00001f80\\U00001f88\\U00001fa7\\U00001faf\\U00001fb2\\U00001fb3\\U00001fb4\\U00001fb6\\U00001fb7\\U00001fbc\\U00001fc2\\U00001fc3\\U00001fc7\\U00001fcc\\U00001fd2\\U00001fd7\\U00001fe4\\U00001ff2\\U00001ff4\\U00001ff7\\U00001ffc\\U0000fb00\\U0000fb01\\U0000fb02\\U0000fb03\\U0000fb04\\U0000fb05\\U0000fb06\\U0000fb13\\U0000fb14\\U0000fb15\\U0000fb16\\U0000fb17\\U000001c6\\U000001c5\\U000001c4\\U000010d0\\U00001c90\\U00000345\\U00000130\\U00000131\\U0000017f\\U000000b5'.upper() }}",
        "{{ '\\U000000dfx \\U00000149x \\U000001f0x \\U00000390x \\U000003b0x \\U00000587x \\U00001e96x \\U00001e97x \\U00001e98x \\U00001e99x \\U00001e9ax \\U00001e9ex \\U00001f50x \\U00001f52x \\U00001f80x \\U00001f88x \\U00001fa7x \\U00001fafx \\U00001fb2x \\U00001fb3x \\U00001fb4x \\U00001fb6x \\U00001fb7x \\U00001fbcx \\U00001fc2x \\U00001fc3x \\U00001fc7x \\U00001fccx \\U00001fd2x \\U00001fd7x \\U00001fe4x \\U00001ff2x \\U00001ff4x \\U00001ff7x \\U00001ffcx \\U0000fb00x \\U0000fb01x \\U0000fb02x \\U0000fb03x \\U0000fb04x \\U0000fb05x \\U0000fb06x \\U0000fb13x \\U0000fb14x \\U0000fb15x \\U0000fb16x \\U0000fb17x \\U000001c6x \\U000001c5x \\U000001c4x \\U000010d0x \\U00001c90x \\U00000345x \\U00000130x \\U00000131x \\U0000017fx \\U000000b5x'.title() }}",
        "{{ '\\U000000dfx \\U00000149x \\U000001f0x \\U00000390x \\U000003b0x \\U00000587x \\U00001e96x \\U00001e97x \\U00001e98x \\U00001e99x \\U00001e9ax \\U00001e9ex \\U00001f50x \\U00001f52x \\U00001f80x \\U00001f88x \\U00001fa7x \\U00001fafx \\U00001fb2x \\U00001fb3x \\U00001fb4x \\U00001fb6x \\U00001fb7x \\U00001fbcx \\U00001fc2x \\U00001fc3x \\U00001fc7x \\U00001fccx \\U00001fd2x \\U00001fd7x \\U00001fe4x \\U00001ff2x \\U00001ff4x \\U00001ff7x \\U00001ffcx \\U0000fb00x \\U0000fb01x \\U0000fb02x \\U0000fb03x \\U0000fb04x \\U0000fb05x \\U0000fb06x \\U0000fb13x \\U0000fb14x \\U0000fb15x \\U0000fb16x \\U0000fb17x \\U000001c6x \\U000001c5x \\U000001c4x \\U000010d0x \\U00001c90x \\U00000345x \\U00000130x \\U00000131x \\U0000017fx \\U000000b5x' | title }}",
        "{{ '\\U000000dfx \\U00000149x \\U000001f0x \\U00000390x \\U000003b0x \\U00000587x \\U00001e96x \\U00001e97x \\U00001e98x \\U00001e99x \\U00001e9ax \\U00001e9ex \\U00001f50x \\U00001f52x \\U00001f80x \\U00001f88x \\U00001fa7x \\U00001fafx \\U00001fb2x \\U00001fb3x \\U00001fb4x \\U00001fb6x \\U00001fb7x \\U00001fbcx \\U00001fc2x \\U00001fc3x \\U00001fc7x \\U00001fccx \\U00001fd2x \\U00001fd7x \\U00001fe4x \\U00001ff2x \\U00001ff4x \\U00001ff7x \\U00001ffcx \\U0000fb00x \\U0000fb01x \\U0000fb02x \\U0000fb03x \\U0000fb04x \\U0000fb05x \\U0000fb06x \\U0000fb13x \\U0000fb14x \\U0000fb15x \\U0000fb16x \\U0000fb17x \\U000001c6x \\U000001c5x \\U000001c4x \\U000010d0x \\U00001c90x \\U00000345x \\U00000130x \\U00000131x \\U0000017fx \\U000000b5x'.split() | map('capitalize') | join(' ') }}",
        "{{ '\\U000000df\\U00000149\\U000001f0\\U00000390\\U000003b0\\U00000587\\U00001e96\\U00001e97\\U00001e98\\U00001e99\\U00001e9a\\U00001e9e\\U00001f50\\U00001f52\\U00001f80\\U00001f88\\U00001fa7\\U00001faf\\U00001fb2\\U00001fb3\\U00001fb4\\U00001fb6\\U00001fb7\\U00001fbc\\U00001fc2\\U00001fc3\\U00001fc7\\U00001fcc\\U00001fd2\\U00001fd7\\U00001fe4\\U00001ff2\\U00001ff4\\U00001ff7\\U00001ffc\\U0000fb00\\U0000fb01\\U0000fb02\\U0000fb03\\U0000fb04\\U0000fb05\\U0000fb06\\U0000fb13\\U0000fb14\\U0000fb15\\U0000fb16\\U0000fb17\\U000001c6\\U000001c5\\U000001c4\\U000010d0\\U00001c90\\U00000345\\U00000130\\U00000131\\U0000017f\\U000000b5'.lower() }}",
        "{{ '\\U000000df\\U00000149\\U000001f0\\U00000390\\U000003b0\\U00000587\\U00001e96\\U00001e97\\U00001e98\\U00001e99\\U00001e9a\\U00001e9e\\U00001f50\\U00001f52\\U00001f80\\U00001f88\\U00001fa7\\U00001faf\\U00001fb2\\U00001fb3\\U00001fb4\\U00001fb6\\U00001fb7\\U00001fbc\\U00001fc2\\U00001fc3\\U00001fc7\\U00001fcc\\U00001fd2\\U00001fd7\\U00001fe4\\U00001ff2\\U00001ff4\\U00001ff7\\U00001ffc\\U0000fb00\\U0000fb01\\U0000fb02\\U0000fb03\\U0000fb04\\U0000fb05\\U0000fb06\\U0000fb13\\U0000fb14\\U0000fb15\\U0000fb16\\U0000fb17\\U000001c6\\U000001c5\\U000001c4\\U000010d0\\U00001c90\\U00000345\\U00000130\\U00000131\\U0000017f\\U000000b5'.swapcase() }}",
        "{{ '\\U000000df\\U00000149\\U000001f0\\U00000390\\U000003b0\\U00000587\\U00001e96\\U00001e97\\U00001e98\\U00001e99\\U00001e9a\\U00001e9e\\U00001f50\\U00001f52\\U00001f80\\U00001f88\\U00001fa7\\U00001faf\\U00001fb2\\U00001fb3\\U00001fb4\\U00001fb6\\U00001fb7\\U00001fbc\\U00001fc2\\U00001fc3\\U00001fc7\\U00001fcc\\U00001fd2\\U00001fd7\\U00001fe4\\U00001ff2\\U00001ff4\\U00001ff7\\U00001ffc\\U0000fb00\\U0000fb01\\U0000fb02\\U0000fb03\\U0000fb04\\U0000fb05\\U0000fb06\\U0000fb13\\U0000fb14\\U0000fb15\\U0000fb16\\U0000fb17\\U000001c6\\U000001c5\\U000001c4\\U000010d0\\U00001c90\\U00000345\\U00000130\\U00000131\\U0000017f\\U000000b5'.casefold() }}",
        "{{ '  a b  c d '.rsplit(none, 2) }}",
        "{{ 'a　b  c'.rsplit() }}",
        "{{ 'a　b  c'.rsplit(maxsplit=1) }}",
        "{{ 1e400 }}",
        "{{ -1e400 }}",
        "{{ 1e-400 }}",
        "{{ 1e400 > 1 }}",
        "{{ [1e308 * 10 - 1e308 * 10 == 1, 1 == 1e308 * 10 - 1e308 * 10, 1 < 1e308 * 10 - 1e308 * 10] }}",
        "{{ range(10)[::2][1:] }}",
        "{{ range(5)[::-1] }}",
        "{{ range(0, 10, 3)[::-1] }}",
        "{{ range(5)[1:100:7] }}",
        "{{ range(5)[::1000000] }}",
        "{{ range(5)[4:1:-2] | list }}",
        "{{ range(1000000000000000000, 1000000000000000003)[1:] }}",
    ],
    "undefined": [
        "[{{ zz }}]", "[{{ d.zz }}]", "{{ zz.a }}", "{{ zz['a'] }}", "{{ zz() }}", "{{ zz + 1 }}", "{{ 1 + zz }}", "{{ 'a' + zz }}", "{{ zz < 1 }}", "{{ zz == zz2 }} {{ zz == none }} {{ zz != 1 }}", "{{ zz | upper }}|{{ zz | replace('a', 'b') }}|{{ zz | first }}|", "{{ -zz }}", "{{ zz * 2 }}", "{{ [zz] }}", "{{ zz in l }} {{ 1 in zz }}",
        "{% if zz %}a{% else %}b{% endif %}", "{{ zz | int }}", "{{ zz | tojson }}", "{{ d.zz.y }}", "{{ zz | round }}", "{{ (zz or 'x') ~ 'y' }}", "{{ zz[1:] }}", "{{ zz | default(d.zz2) }}|", "{% for i in d.zz %}x{% endfor %}|", "{{ zz | sort }}", "{{ zz | float }}", "{{ zz | string | length }}", "{{ none.x is defined }}", "{{ (1).x }}|", "{{ none.x.y }}", "{{ zz % 2 }}", "{{ zz is odd }}", "{{ zz in 'abc' }}",
    ],
    "raises": [
        "{{ raise_exception('Bad ' ~ n) }}", "{{ 1 / 0 }}", "{{ 1 // 0 }}", "{{ 5 % 0 }}", "{{ 'a' + 1 }}", "{{ 1 + 'a' }}", "{{ [] + 1 }}", "{{ none < 1 }}", "{{ l < 1 }}", "{{ n() }}", "{{ 'x'.nope() }}", "{{ l.append(1) }}", "{{ d.pop('a') }}", "{{ d.update({}) }}", "{{ s.__class__.mro }}", "{% for i in n %}{% endfor %}", "{% for a, b in [[1]] %}{% endfor %}", "{% set a, b = 1, 2, 3 %}", "{% set x = 1 %}{% set x.y = 2 %}", "{% macro m(a) %}{% endmacro %}{{ m(1, 2) }}", "{% macro m(a) %}{% endmacro %}{{ m(b=2) }}",
        "{{ l | map('nope') | list }}", "{{ l | select('nope') | list }}", "{{ range(1000000) }}", "{{ range(1, 2, 0) }}", "{{ (l | map('string')) | length }}", "{{ (l | map('string'))[0] }}|", "{{ n | length }}", "{{ n | list }}", "{{ range(3) | tojson }}", "{{ d.items() | tojson }}", "{{ {(1, 2): 3} | tojson }}", "{{ {[]: 1} }}", "{{ ','.join(l) }}", "{{ s.index('zz') }}", "{{ s.split('') }}", "{{ '%d' % 'a' }}", "{{ '%s %s' % 'a' }}", "{{ '%s' % (1, 2) }}", "{{ '{}'.format() }}", "{{ '{x}'.format(1) }}", "{{ s | indent(2, 3, 4, 5) }}", "{{ s | upper(1) }}", "{{ s | replace('a') }}", "{{ s | trim(nope=1) }}", "{{ 1 is divisibleby }}",
        "{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}", "{{ namespace(_a=1) }}", "{% set ns = namespace() %}{% set ns._a = 1 %}", "{{ words | sort(attribute='zz') }}", "{{ [1, 'a'] | sort }}", "{{ [1, 'a'] | max }}", "{{ '' | last | upper }}|", "{{ none | items | list }}", "{{ n | join }}", "{{ l | sum(start='') }}", "{{ caller() }}", "{{ loop.index }}", "{% call n() %}{% endcall %}", "{{ l[::0] }}", "{{ 'a' in 5 }}", "{{ 5 in 'a' }}", "{{ dict(**5) }}", "{{ (l | map('string')) | last }}", "{{ n.upper() }}", "{{ n | nope if t else 1 }}", "{% if t %}{{ n | nope }}{% endif %}", "{% if not t %}{{ n | nope }}{{ n is nope }}{% endif %}ok",
        "{{ '{:=8}'.format('a') }}",
        "{{ '{:,x}'.format(74565) }}",
        "{{ '{:,b}'.format(5) }}",
        "{{ '{:.2d}'.format(5) }}",
        "{{ '{:.2}'.format(5) }}",
        "{{ '{:.2x}'.format(5) }}",
        "{{ '%5%|' % () }}",
        "{{ '%(a)5%|' % {'a': 1} }}",
        "{{ '{:s}'.format(true) }}",
        "{{ '%c' % 'ab' }}",
        "{{ '%c' % 1.5 }}",
        "{{ '%hhd' % 5 }}",
        "{{ '%lld' % 5 }}",
        "{{ '{:,n}'.format(5) }}",
        "{{ '{:+c}'.format(97) }}",
        "{{ '{:,c}'.format(97) }}",
        "{{ '{:#c}'.format(97) }}",
        "{{ '{:.1c}'.format(97) }}",
        "{{ '{:,s}'.format('a') }}",
        "{{ '{:_}'.format('a') }}",
        "{{ '{:+}'.format('a') }}",
        "{{ '{:#}'.format('a') }}",
        "{{ '{: }'.format('a') }}",
        "{{ '{:,_}'.format(5) }}",
        "{{ '{:_,}'.format(5) }}",
        "{{ '{:,,}'.format(5) }}",
        "{{ '{:.2}'.format(true) }}",
        "{{ '%x' % 1.5 }}",
        "{{ '%d' % '5' }}",
        "{{ '{:1$}'.format(5) }}",
        "{{ '{:a}'.format(5) }}",
        "{{ '{:5}'.format(none) }}",
        "{{ '{:5}'.format([1]) }}",
        "{{ '%s %' % 1 }}",
        "{{ '%' % () }}",
        "{{ '%y' % 1 }}",
        "{{ '{:d}'.format(1.5) }}",
        "{{ '{:d}'.format('a') }}",
        "{{ d[1:2] }}",
        "{{ d.items()[1:] }}",
        "{{ (l | map('string'))[1:] }}",
        "{{ l['a':] }}",
        "{{ l[1.0:] }}",
        "{{ range(5)[::0] }}",
    ],
    "syntax": [
        "{% if %}x{% endif %}", "a\n{% if t %}\nb", "{% endif %}", "x\n\n{% nope %}", "{{ n | nope }}", "{{ n is nope }}", "a\nb {{ 1 + }}", "{{ (1 }}", "{{ [1, }}", "{{ 'abc }}", "{{ n ! }}", "{% for x in l %}{% endif %}", "{% set %}", "{% set 1 = 2 %}", "{% for in l %}{% endfor %}", "{{ n\n\n", "{# never", "{% raw %} never", "{% break %}", "{% for x in l %}x{% endfor %}{% continue %}", "{% macro %}{% endmacro %}", "{% macro m(a=1, b) %}{% endmacro %}", "{{ m(a=1, 2) }}", "{{ }}", "{% call n %}{% endcall %}", "{{ 1 2 }}", "{{ a.1.b. }}", "{% if t %}{% else %}{% elif t %}{% endif %}", "{{ n is odd is even }}", "{% filter %}{% endfilter %}", "a\nb\nc {{ d | e(1 }} ", "{{ ) }}", "{{ {1} }}", "{{ {1: 2 }}", "{% set none = 1 %}", "{% with %}x{% endwith %}{% with a %}{% endwith %}",
        "{% include 'x' %}", "{% extends 'x' %}", "{{ '\\u12' }}", "{{ 01 }}", "{% for x in l recursive if x %}{% endfor %}", "{% do l %}", "{% trans %}x{% endtrans %}", "{% set x = %}", "{{ m(*l, *l) }}", "{% macro m(a, a.b) %}{% endmacro %}", "{{ n. }}", "{% else %}", "{{ l[ }}",
    ],
}


def main():
    golden = []
    for group, sources in CASES.items():
        for source in sources:
            case = {"group": group, "source": source}
            text, error = jinja_reference.render(source, VARIABLES)
            if error is None:
                case["text"] = text
            else:
                case["raises"] = type(error).__name__
                if isinstance(error, jinja2.TemplateSyntaxError):
                    case["line"] = error.lineno
            golden.append(case)
    json.dump({"variables": VARIABLES, "cases": golden}, sys.stdout, ensure_ascii=False, indent=1)
    sys.stdout.write("\n")


if __name__ == "__main__":
    main()
