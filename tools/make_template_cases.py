#!/usr/bin/env python3
"""Writes what Jinja2 makes of snippets and of whole templates into tests/data/template.

jinja_cases.jsonl: the snippets below. conversations.jsonl: the *.jinja files of that folder with
the conversations below.

Needs `pip install jinja2` (3.1). Run from the top of the source tree after adding snippets:
    python3 tools/make_template_cases.py
Each line has a template, and either its expected text or error: true. The environment is the one
that Hugging Face transformers renders chat templates in.
"""
import datetime
import json
import pathlib

import jinja2
import jinja2.ext
import jinja2.sandbox

NOW = 1732406399  # 2024-11-23T23:59:59Z, a Saturday

MESSAGES = [
    {"role": "user", "content": "one"},
    {"role": "assistant", "content": "  two  ", "extra": None},
    {"role": "user", "content": "thrée 👩‍🌾", "parts": [{"type": "text", "text": "x"}], "n": 3},
]

SNIPPETS = r"""
{{ 1 + 2 * 3 }}|{{ (1 + 2) * 3 }}|{{ 2 ** 3 ** 2 }}|{{ -2 ** 2 }}|{{ 7 // -2 }}|{{ -7 % 3 }}|{{ 7 % -3 }}|{{ 7 / 2 }}
{{ 1.5 + 1 }}|{{ 2.0 }}|{{ 1e3 }}|{{ 1e16 }}|{{ 1e-5 }}|{{ 0.1 + 0.2 }}|{{ 1_000 }}|{{ 0x1f }}|{{ 0b11 }}|{{ 0o17 }}|{{ 7.5 // 2 }}|{{ -7.5 % 2 }}|{{ 2 ** -1 }}|{{ 2 ** 0.5 }}
{{ 1 / 0 }}
{{ 1 // 0 }}
{{ 1 % 0 }}
{{ true + true }}|{{ true == 1 }}|{{ 1 == 1.0 }}|{{ none == false }}|{{ 'a' == 1 }}|{{ -true }}|{{ +5 }}
{{ 1 < 2 < 3 }}|{{ 1 < 3 < 2 }}|{{ 'a' < 'b' }}|{{ [1, 2] < [1, 3] }}|{{ (1,) < (1, 2) }}|{{ 1 != 2 != 1 }}
{{ 'a' < 1 }}
{{ none < 1 }}
{{ 'a' + 1 }}
{{ 'a' + none }}
{{ [1] + [2] }}|{{ (1,) + (2,) }}|{{ 'a' * 3 }}|{{ 3 * 'ab' }}|{{ [0] * 2 }}|{{ 'x' * -1 }}|{{ 'a' 'b' "c" }}
{{ [1] + (2,) }}
{{ 'a' ~ 1 ~ none ~ true ~ 1.0 ~ [1, 'a'] ~ undefinedvar ~ {'k': (1,)} }}
{{ not true }}|{{ not not 1 }}|{{ not '' }}|{{ 1 and 2 }}|{{ 0 and 2 }}|{{ 0 or 'x' }}|{{ '' or none }}|{{ not 1 == 2 }}
{{ 1 in [1, 2] }}|{{ 'a' in {'a': 1} }}|{{ 'b' not in 'abc' }}|{{ 3 in (1, 2) }}|{{ '' in 'x' }}|{{ 1 in undefinedvar }}|{{ 2 in range(3) }}
{{ 1 in 'abc' }}
{{ 'a' in none }}
{{ 'yes' if 1 else 'no' }}|{{ 'yes' if 0 }}|{{ 'a' if false else 'b' if false else 'c' }}|{{ (1 if true else 2) + 1 }}
{{ 1 if true else 2 + 3 }}|{{ [1 if false else 2, 3] }}
{{ "\n\t\\\'\"\x41\u00e9\101" }}|{{ 'a\qb' }}|{{ 'line\
continued' }}
{{ [1, 'a', none, true, 1.5, [], {}, ()] }}|{{ (1,) }}|{{ () }}|{{ {'a': 1, 2: 'b', none: 3} }}|{{ [1,] }}|{{ {'a': 1,} }}
{{ 'it\'s' | list }}|{{ ["it's", 'say "hi"', 'both \' and "', 'tab\t', 'nl\n', 'é', '\x00', '\u2028', '👩‍🌾'] }}
{{ 'hello'[1] }}|{{ 'hello'[-1] }}|{{ 'hello'[1:3] }}|{{ 'hello'[::-1] }}|{{ 'hello'[:-1] }}|{{ 'hello'[10:] }}|{{ 'hello'[-10:2] }}|{{ 'hello'[::2] }}|{{ 'hello'[4:1:-2] }}
{{ 'thrée👩x'[3] }}|{{ 'thrée👩x'[3:6] }}|{{ 'thrée👩x'[::-1] }}|{{ 'thrée👩x' | length }}|{{ 'hello'[99] is defined }}
{{ [1, 2, 3, 4][1:] }}|{{ [1, 2, 3, 4][::-2] }}|{{ (1, 2, 3)[:2] }}|{{ [1, 2, 3][-1] }}|{{ [1, 2][5] is defined }}|{{ range(10)[2:4] | list }}
{{ [1, 2][0:2:0] }}
{{ [1, 2]['a'] is defined }}|{{ {'a': 1}[0] is defined }}|{{ {1: 'x'}[1] }}|{{ {1: 'x'}[true] }}|{{ {'a': {'b': 2}}.a.b }}|{{ {'a': [5]}['a'][0] }}|{{ [[7]].0.0 }}
{{ undefinedvar }}|{{ undefinedvar is defined }}|{{ undefinedvar == undefinedvar }}|{{ undefinedvar | default('d') }}|{{ undefinedvar | length }}|{{ undefinedvar | list }}|{{ not undefinedvar }}
{{ undefinedvar.x }}
{{ undefinedvar['x'] }}
{{ undefinedvar + 1 }}
{{ undefinedvar() }}
{{ messages[0].missing }}|{{ messages[0].missing is defined }}|{{ messages[0]['missing'] | default('x') }}|{{ messages[9] is defined }}
{{ messages[0].missing.deeper }}
{{ messages[9].role }}
{{ none.x is defined }}|{{ 5.x is defined }}|{{ 'abc'.nope is defined }}
{{ 'abc'.nope() }}
{{ 5() }}
{{ messages[0].role.upper() }}|{{ messages[1].content.strip() }}|{{ messages[2].content[-1:] }}|{{ messages[2].n + 1 }}|{{ messages[1].extra }}|{{ messages[1].extra is none }}
{{ messages | length }}|{{ messages | map(attribute='role') | join(',') }}|{{ messages | selectattr('n', 'defined') | list | length }}|{{ messages | rejectattr('role', 'equalto', 'user') | map(attribute='content') | list }}
{{ messages | last | tojson }}
{{ messages | tojson(indent=2) }}
{{ messages | string }}
{{ {'b': 1, 'a': [1, 2.5, none, true, {}], 'é': '"\\\n\t\x01/<>&'} | tojson }}|{{ {'b': 1, 'a': 2} | tojson(sort_keys=true) }}|{{ 'é👩' | tojson(ensure_ascii=true) }}|{{ [1, {'a': 2}] | tojson(separators=(',', ':')) }}
{{ {'a': [1, {'b': []}], 'c': {}} | tojson(indent=4) }}|{{ [1, [2]] | tojson(indent=0) }}|{{ [1] | tojson(indent='--') }}|{{ 1.0 | tojson }}|{{ 1e30 | tojson }}|{{ {1: 2, none: 3, true: 4} | tojson }}
{{ undefinedvar | tojson }}
{% for x in [1, 2, 3] %}{{ loop.index }}{{ loop.index0 }}{{ loop.revindex }}{{ loop.revindex0 }}{{ loop.first }}{{ loop.last }}{{ loop.length }};{% endfor %}
{% for x in [1, 2, 3] %}{{ loop.previtem is defined }}{{ loop.nextitem | default('-') }}{{ loop.cycle('a', 'b') }}{{ loop.depth }}{{ loop.depth0 }};{% endfor %}
{% for x in [] %}a{% else %}empty{% endfor %}|{% for x in [1] %}a{% else %}empty{% endfor %}
{% for x in [1, 2, 3, 4] if x is even %}{{ x }}{{ loop.index }}{{ loop.last }}{{ loop.length }};{% else %}none{% endfor %}
{% for x in [1, 3] if x is even %}{{ x }}{% else %}none{% endfor %}
{% for k, v in {'a': 1, 'b': 2}.items() %}{{ k }}={{ v }};{% endfor %}{% for k in {'a': 1} %}{{ k }}{% endfor %}{% for a, (b, c) in [(1, (2, 3))] %}{{ a }}{{ b }}{{ c }}{% endfor %}
{% for a, b in [(1, 2, 3)] %}{{ a }}{% endfor %}
{% for c in 'aé👩' %}[{{ c }}]{% endfor %}{% for x in undefinedvar %}x{% endfor %}
{% for x in none %}{% endfor %}
{% for x in 5 %}{% endfor %}
{% for x in range(5) %}{% if x == 1 %}{% continue %}{% endif %}{% if x == 3 %}{% break %}{% endif %}{{ x }}{% endfor %}
{% for x in [1, 2] %}{% for y in [1, 2] %}{% if y == 2 %}{% break %}{% endif %}{{ x }}{{ y }}{{ loop.index }}{% endfor %}{{ loop.index }}{% endfor %}
{% set x = 1 %}{% for i in [1, 2] %}{{ x }}{% set x = x + 1 %}{{ x }}{% endfor %}{{ x }}
{% set ns = namespace(n=0, s='') %}{% for i in [1, 2, 3] if not ns.n == 2 %}{% set ns.n = ns.n + 1 %}{% set ns.s = ns.s ~ i %}{% endfor %}{{ ns.n }}{{ ns.s }}
{% set ns = namespace() %}{{ ns.x is defined }}{% set ns.x = [1] %}{{ ns.x }}{{ ns['x'] }}{% set m = namespace({'a': 1}, b=2) %}{{ m.a }}{{ m.b }}
{% set d = {'a': 1} %}{% set d.a = 2 %}
{% set a, b = 1, 2 %}{{ a }}{{ b }}{% set c = 1, 2 %}{{ c }}{% set (e, f) = [3, 4] %}{{ e }}{{ f }}
{% set x %}  a {{ 1 + 1 }} {% endset %}[{{ x }}]{% set y | upper | trim %} abc {% endset %}[{{ y }}]
{% if false %}a{% elif none %}b{% elif 0 %}c{% else %}d{% endif %}|{% if [] %}x{% endif %}{% if 'a' %}y{% endif %}
{% if true %}{% set z = 5 %}{% endif %}{{ z }}
{% macro f(a, b=2, c=none) %}[{{ a }}{{ b }}{{ c }}]{% endmacro %}{{ f(1) }}{{ f(1, c=3) }}{{ f(b=1, a=0) }}{{ f() }}
{% macro f(a) %}{{ a }}{% endmacro %}{{ f(1, 2) }}
{% macro f(a) %}{{ a }}{% endmacro %}{{ f(z=2) }}
{% macro f(a) %}{{ a }}{{ varargs }}{{ kwargs }}{% endmacro %}{{ f(1, 2, 3, x=4) }}
{% macro f(a, b=a ~ 'x') %}{{ a }}{{ b }}{% endmacro %}{{ f('q') }}
{% macro f(x) %}{% if x > 0 %}{{ x }}{{ f(x - 1) }}{% endif %}{% endmacro %}{{ f(3) }}
{% set x = 1 %}{% macro f() %}{{ x }}{% endmacro %}{% set x = 2 %}{{ f() }}
{% macro f() %}{{ later }}{% endmacro %}{% set later = 9 %}{{ f() }}
{% macro box(t) %}<{{ t }}>{{ caller() }}</{{ t }}>{% endmacro %}{% call box('b') %}hi {{ 1 }}{% endcall %}
{% macro each(l) %}{% for x in l %}{{ caller(x, loop.index) }};{% endfor %}{% endmacro %}{% call(x, i) each(['a', 'b']) %}{{ i }}{{ x }}{% endcall %}
{% macro f() %}{{ caller is defined }}{% endmacro %}{{ f() }}
{% macro f() %}x{% endmacro %}{{ f()|upper }}{{ f() | length }}{{ f is callable }}
{% filter upper %}a{{ 'b' }}{% endfilter %}{% filter replace('a', 'o') | upper %}banana{% endfilter %}
{% with a = 1, b = 2 %}{{ a }}{{ b }}{% endwith %}{{ a is defined }}
{% raw %}{{ not }} {% if %}{% endraw %}|{# comment {{ x }} #}|{%- raw -%}  x  {%- endraw -%}|
{% generation %}{{ 'g' }}{% endgeneration %}{% print 1, 'a' %}{% block foo %}in block{% endblock %}
{{ ' a b '.strip() }}|{{ 'xxaxx'.strip('x') }}|{{ 'abcx'.lstrip('ab') }}|{{ 'abcx'.rstrip('xc') }}|{{ '\u3000 é\u00a0'.strip() }}|{{ 'éaé'.strip('é') }}|{{ 'a'.strip(none) }}
{{ 'a,b,,c'.split(',') }}|{{ ' a  b '.split() }}|{{ 'a b c'.split(' ', 1) }}|{{ 'a,b,c'.rsplit(',', 1) }}|{{ ' a b  c '.rsplit(none, 1) }}|{{ 'abc'.split('x') }}|{{ ''.split() }}|{{ ''.split(',') }}|{{ ' a b c'.split(none, 1) }}|{{ 'a--b--c'.split('--', maxsplit=1) }}
{{ 'abc'.split('') }}
{{ 'a\nb\r\nc\n'.splitlines() }}|{{ 'a\nb\n'.splitlines(true) }}|{{ ''.splitlines() }}|{{ 'a\x0bb\u2028c'.splitlines() }}
{{ 'abc'.startswith('a') }}|{{ 'abc'.startswith(('x', 'a')) }}|{{ 'abc'.endswith('bc') }}|{{ 'abc'.endswith(()) }}|{{ 'abc'.startswith('b', 1) }}|{{ 'abc'.endswith('b', 0, 2) }}
{{ 'abc'.startswith(1) }}
{{ 'abc'.startswith(['a']) }}
{{ 'GPT correct'.title() }}|{{ "they're bill's".title() }}|{{ 'ABC def'.capitalize() }}|{{ 'ABC def'.swapcase() }}|{{ 'ß ŉ ǆ ﬀ'.upper() }}|{{ 'ß ǆabc ﬀ'.title() }}|{{ 'ΣΑΣ ΑΣ. Σ'.lower() }}|{{ 'İI'.lower() }}|{{ 'ǆ'.capitalize() }}
{{ 'GPT correct-word (x)'|title }}|{{ 'aBC dE'|capitalize }}|{{ 'élan ﬀ'|upper }}|{{ 'ÀÉ'|lower }}|{{ none|upper }}|{{ 5|lower }}
{{ 'aXbX'.replace('X', '-') }}|{{ 'aaa'.replace('a', 'b', 2) }}|{{ 'abc'.replace('', '-') }}|{{ 'abc'.replace('', '-', 2) }}|{{ 'é'.replace('', '.') }}|{{ 'aa'|replace('a', 'xy') }}|{{ 'aaa'|replace('a', 'b', 1) }}|{{ 1221|replace(2, 'x') }}|{{ 'ab'.replace('b', '') }}
{{ 'hello'.find('l') }}|{{ 'hello'.find('z') }}|{{ 'héllo'.find('l') }}|{{ 'hello'.rfind('l') }}|{{ 'hello'.find('l', 3) }}|{{ 'hello'.index('e') }}|{{ 'hello'.count('l') }}|{{ 'aaa'.count('aa') }}|{{ 'abc'.count('') }}|{{ 'hello'.find('') }}|{{ 'hello'.rfind('') }}
{{ 'hello'.index('z') }}
{{ ','.join(['a', 'b']) }}|{{ ', '.join('abc') }}|{{ ''.join([]) }}|{{ '-'.join(('x', 'y')) }}
{{ ','.join([1]) }}
{{ 'prefix-x'.removeprefix('prefix-') }}|{{ 'x.txt'.removesuffix('.txt') }}|{{ 'a'.removeprefix('b') }}|{{ 'a=b=c'.partition('=') }}|{{ 'a=b=c'.rpartition('=') }}|{{ 'abc'.partition('=') }}
{{ '12'.isdigit() }}|{{ '²'.isdigit() }}|{{ '²'.isdecimal() }}|{{ '½'.isnumeric() }}|{{ ''.isdigit() }}|{{ 'aé'.isalpha() }}|{{ 'a1'.isalnum() }}|{{ ' \t'.isspace() }}|{{ 'AB1'.isupper() }}|{{ 'ab1'.islower() }}|{{ '1'.isupper() }}|{{ 'Ab Cd'.istitle() }}|{{ 'é'.isascii() }}
{{ 'a'.center(5) }}|{{ 'a'.ljust(3, '.') }}|{{ 'a'.rjust(3) }}|{{ '-5'.zfill(4) }}|{{ 'abc'.center(2) }}
{{ '{} {}'.format(1, 'a') }}|{{ '{1}{0}'.format('a', 'b') }}|{{ '{x}'.format(x=5) }}|{{ '{0[k]} {0.real}'.format({'k': 1}) if false else '{0[k]}'.format({'k': 1}) }}|{{ '{{}}'.format() }}|{{ '{!r}'.format('a') }}|{{ '{:>5}|{:<5}|{:^5}|{:*^7}'.format(1, 'a', 'b', 'c') }}
{{ '{:05d} {:x} {:#x} {:b} {:,} {:+d}'.format(42, 255, 255, 5, 1234567, 3) }}|{{ '{:.2f} {:e} {:g} {:.1%} {:8.3f}'.format(3.14159, 12345.678, 0.00001, 0.256, 2.5) }}|{{ '{:.3}'.format('abcdef') }}|{{ '{}'.format(none) }}|{{ '{:{w}}'.format(1, w=4) }}|{{ '{:d}'.format(true) }}
{{ '{}'.format() }}
{{ '{'.format() }}
{{ '{:d}'.format('a') }}
{{ '%s and %d' % ('a', 5) }}|{{ '%s' % 'x' }}|{{ '%5.1f|%-5s|%05d|%x|%%' % (3.14159, 'a', 42, 255) }}|{{ '%(a)s' % {'a': 1} }}|{{ '%r' % 'q' }}|{{ '%s' % [1] }}|{{ '%c%c' % (65, 'b') }}|{{ '%+d % d' % (3, 4) }}|{{ '%s' | format(5) }}|{{ '%.2s' % 'abc' }}|{{ '%e' % 12345.678 }}|{{ '%g' % 1e-10 }}|{{ '%d' % 3.9 }}
{{ '%s %s' % ('a',) }}
{{ '%s' % ('a', 'b') }}
{{ '%d' % 'a' }}
{{ 'x' % 1 }}
{{ {'a': 1}.items() }}|{{ {'a': 1}.keys() | list }}|{{ {'a': 1}.values() | list }}|{{ {'a': 1}.get('a') }}|{{ {'a': 1}.get('b') }}|{{ {'a': 1}.get('b', 2) }}|{{ {'a': 1}.keys() }}|{{ {'a': 1}.items() | length }}
{{ {'items': 1}.items is callable }}|{{ {'items': 1}['items'] }}|{{ {'get': 5}['get'] }}|{{ {'x': 5}['get'] is callable }}|{{ {'a': 1, 'a': 2} }}|{{ dict(a=1, b=2) }}|{{ dict([('x', 1)]) }}|{{ dict({'a': 1}, b=3) }}
{{ {'a': 1}.pop('a') }}
{{ {'a': 1}.update({'b': 2}) }}
{% set l = [] %}{% set _ = l.append(1) %}{{ l }}
{{ [].append is defined }}|{{ [1, 2, 1].count(1) }}|{{ [1, 2].index(2) }}|{{ (1, 2).index(1) }}
{{ [1].index(5) }}
{{ {[1]: 2} }}
{{ range(5) | list }}|{{ range(1, 7, 2) | list }}|{{ range(3, 0, -1) | list }}|{{ range(0) | list }}|{{ range(3) }}|{{ range(1, 5, 2) }}|{{ range(3) | length }}
{{ range(1000000) | list }}
{{ range(1, 2, 0) }}
{{ range('a') }}
{{ [3, 1, 2] | sort }}|{{ ['b', 'A', 'c'] | sort }}|{{ ['b', 'A', 'c'] | sort(case_sensitive=true) }}|{{ [1, 3, 2] | sort(reverse=true) }}|{{ [{'a': 2, 'b': 1}, {'a': 1, 'b': 2}, {'a': 1, 'b': 1}] | sort(attribute='a,b') }}|{{ [{'a': {'b': 2}}, {'a': {'b': 1}}] | sort(attribute='a.b') }}
{{ [1, 'a'] | sort }}
{{ [1, 2, 1, 'a', 'A'] | unique | list }}|{{ [{'a': 1}, {'a': 1}, {'a': 2}] | unique(attribute='a') | list }}|{{ [3, 1] | min }}|{{ [3, 1] | max }}|{{ ['b', 'A'] | min }}|{{ [] | min is defined }}|{{ [1, 2] | sum }}|{{ [{'v': 1}, {'v': 2}] | sum(attribute='v') }}|{{ [1] | sum(start=5) }}|{{ [{'v': 3}, {'v': 2}] | max(attribute='v') }}
{{ [1, 2, 3] | first }}|{{ [1, 2, 3] | last }}|{{ 'abc' | first }}|{{ 'abc' | last }}|{{ [] | first is defined }}|{{ {'a': 1} | first }}|{{ 'abc' | reverse }}|{{ [1, 2] | reverse | list }}|{{ 'abc' | list }}|{{ {'a': 1} | list }}
{{ [1, 2, 3] | join }}|{{ [1, none, 'a'] | join('-') }}|{{ [{'n': 1}, {'n': 2}] | join(',', attribute='n') }}|{{ 'abc' | join('.') }}|{{ {'a': 1, 'b': 2} | join }}|{{ [] | join(',') }}|{{ [1, 2] | join(5) }}
{{ {'b': 1, 'A': 2, 'c': 0} | dictsort }}|{{ {'b': 1, 'A': 2} | dictsort(true) }}|{{ {'b': 1, 'a': 2} | dictsort(by='value') }}|{{ {'b': 1, 'a': 2} | dictsort(reverse=true) }}|{{ {'a': 1} | items | list }}|{{ undefinedvar | items | list }}
{{ [1] | items | list }}
{{ [1, 2, 3, 4, 5] | batch(2) | list }}|{{ [1, 2, 3] | batch(2, 'x') | list }}|{{ [1, 2, 3, 4, 5] | slice(3) | list }}|{{ [1, 2, 3, 4, 5] | slice(3, 'x') | list }}|{% for g in [{'k': 'b', 'v': 1}, {'k': 'a', 'v': 2}, {'k': 'B', 'v': 3}] | groupby('k') %}{{ g[0] }}:{{ g[1] | map(attribute='v') | list }};{% endfor %}
{{ ['a', 'b'] | map('upper') | list }}|{{ [1, 2, 3] | select('odd') | list }}|{{ [0, 1, ''] | select | list }}|{{ [1, 2, 3] | reject('odd') | list }}|{{ [1, 2, 3] | select('gt', 1) | list }}|{{ [1, 2] | select('in', [2]) | list }}|{{ [{'a': 1}, {}] | map(attribute='a', default='d') | list }}|{{ ['a-b'] | map('replace', '-', '+') | list }}|{{ [{'a': 1}, {'a': 0}] | selectattr('a') | list }}|{{ none | map('upper') | list }}|{{ [[1, 2]] | map('first') | list }}|{{ [{'a': [5]}] | map(attribute='a.0') | list }}
{{ [1] | map('nofilter') | list }}
{{ 'x' | default('d') }}|{{ none | default('d') }}|{{ none | default('d', true) }}|{{ '' | d('e', boolean=true) }}|{{ undefinedvar | default }}|{{ messages[0].x | default([]) }}
{{ ' x ' | trim }}|{{ 'xax' | trim('x') }}|{{ none | trim }}|{{ 5 | string + 'a' }}|{{ '<a href="x">\'&' | escape }}|{{ '<b>' | e }}|{{ '<b>' | safe }}|{{ ('<b>' | safe) + '<i>' }}|{{ ('<b>' | safe) ~ '<i>' }}
{{ 'a\nb\n\nc' | indent }}|{{ 'a\nb' | indent(2, true) }}|{{ 'a\n\nb' | indent(2, blank=true) }}|{{ 'a\nb' | indent('> ') }}|{{ 'a\nb\n' | indent(1) }}|{{ '' | indent }}
{{ none | indent }}
{{ '42' | int }}|{{ '42.9' | int }}|{{ 'x' | int }}|{{ 'x' | int(5) }}|{{ '0x1f' | int(base=16) }}|{{ 3.9 | int }}|{{ -3.9 | int }}|{{ ' 7 ' | int }}|{{ none | int }}|{{ true | int }}|{{ '1_000' | int }}|{{ '12' | int(0, 8) }}|{{ '1.5' | float }}|{{ 'x' | float }}|{{ 'x' | float(1.0) }}|{{ '1e3' | float }}|{{ 'inf' | float }}|{{ 3 | float }}
{{ 2.5 | round }}|{{ 3.5 | round }}|{{ 2.675 | round(2) }}|{{ 42.55 | round(1) }}|{{ 42 | round }}|{{ 1234 | round(-2) }}|{{ 1250 | round(-2) }}|{{ 1234.5 | round(-2) }}|{{ 2.1 | round(method='ceil') }}|{{ 2.19 | round(1, 'floor') }}|{{ -5 | abs }}|{{ -5.5 | abs }}|{{ -2.5 | round }}
{{ 'Hello World foo' | wordcount }}|{{ 'foo bar baz qux' | truncate(9) }}|{{ 'foo bar baz qux' | truncate(9, true) }}|{{ 'foo bar baz qux' | truncate(11) }}|{{ 'foo bar' | truncate(5, end='') }}|{{ 'foo bar baz qux' | truncate(11, False, '...', 0) }}
{{ 'a b/ü?&=' | urlencode }}|{{ {'a b': 'c/d', 'e': 1} | urlencode }}|{{ [('x', 'y z')] | urlencode }}|{{ 1000 | filesizeformat }}|{{ 1 | filesizeformat }}|{{ 1048576 | filesizeformat(true) }}|{{ 123456789 | filesizeformat }}|{{ 'ab' | center(6) }}|{{ {'a': 1} | attr('items') is callable }}|{{ {'a': 1} | attr('a') is defined }}
{{ 1 is odd }}|{{ 2 is even }}|{{ 9 is divisibleby 3 }}|{{ 9 is divisibleby(2) }}|{{ 'a' is string }}|{{ 1 is number }}|{{ true is number }}|{{ true is integer }}|{{ 1.0 is float }}|{{ 1 is float }}|{{ true is boolean }}|{{ 1 is boolean }}|{{ none is none }}|{{ true is true }}|{{ 1 is true }}|{{ false is false }}|{{ 0 is false }}
{{ {} is mapping }}|{{ [] is mapping }}|{{ [] is sequence }}|{{ 'a' is sequence }}|{{ {} is sequence }}|{{ 5 is sequence }}|{{ [] is iterable }}|{{ 'a' is iterable }}|{{ 5 is iterable }}|{{ none is iterable }}|{{ undefinedvar is iterable }}|{{ undefinedvar is sequence }}|{{ undefinedvar is string }}|{{ undefinedvar is mapping }}|{{ range is callable }}|{{ 5 is callable }}|{{ namespace() is mapping }}|{{ {}.items() is sequence }}|{{ {}.items() is iterable }}|{{ range(3) is sequence }}
{{ 1 is eq 1 }}|{{ 1 is equalto(2) }}|{{ 1 is ne 2 }}|{{ 1 is lt 2 }}|{{ 1 is gt(2) }}|{{ 2 is ge 2 }}|{{ 2 is le 1 }}|{{ 1 is in [1] }}|{{ 'a' is in 'abc' }}|{{ 1 is not in [1] }}|{{ 'A' is upper }}|{{ 'a' is lower }}|{{ 'upper' is filter }}|{{ 'nope' is filter }}|{{ 'odd' is test }}|{{ none is sameas none }}|{{ 1 is not defined }}|{{ 1 is not none and true }}|{{ 5 is not odd }}
{{ 1 is greaterthan 0 }}|{{ 1 is lessthan 0 }}|{{ [1, 2] is eq [1, 2] }}|{{ (1, 2) == [1, 2] }}|{{ {'a': 1, 'b': 2} == {'b': 2, 'a': 1} }}|{{ 'a' is escaped }}|{{ 'a' | safe is escaped }}
{{ 'a' is defined and 'b' is string or false }}|{{ -1 | abs }}|{{ (1 + 2) | string }}|{{ 'a' ~ 'b' | upper }}|{{ (1, 2) | length }}|{{ not 'a' in 'abc' }}|{{ 1 - -1 }}|{{ 2 * -3 }}|{{ -'5' | int }}
{{ strftime_now('%d %b %Y') }}|{{ strftime_now('%Y-%m-%d %H:%M:%S') }}|{{ strftime_now('%A, %B %d, %y %j %I %p %%') }}|{{ strftime_now('%-d') }}|{{ strftime_now('%U %W %V %G %u %w') }}|{{ strftime_now('%a') }}|{{ strftime_now('%e|%F|%T|%D|%R') }}
{{ raise_exception('stop ' ~ 5) }}
{% if true -%}   a   {%- endif %}|  {%- if true %} b {% endif -%}   |{{- ' c ' -}}   d
{% set a = 1 %}
x
  {% if true %}
    y
  {% endif %}
z {# c #}
  {# d #}
w
a {%+ if true %} b {%+ endif %} c
   {%+ if true %}x{% endif +%}
y
{{ 'a' }}
{{ 'b' }}   
   {{ 'c' }}
{%- for x in [1, 2] %}
  - {{ x }}
{%- endfor %}
end
{{ [ 1 ,
 2 ] }}{{ {'a': {'b': {'c': 1}}} }}{{ "}}" }}{{ '%}' }}{% set s = '{% x %}' %}{{ s }}
{{ 'x'|upper|lower|title }}{{ ('a')|upper }}{{ [1,2]|last|string|length }}{{ 'a'.upper().lower().replace('a','b')[0] }}
{{ messages[-1].parts[0].text }}{{ messages[::-1] | map(attribute='role') | list }}{{ messages[1:] | length }}{{ messages[:0] }}
{% for m in messages %}{% if loop.first %}F{% elif loop.last %}L{% else %}M{% endif %}{{ loop.changed(m.role) }}{% endfor %}
{% set x = [] %}{% for i in range(3) %}{% set x = x + [i] %}{% endfor %}{{ x }}
{% set ns = namespace(items=[]) %}{% for i in range(3) %}{% set ns.items = ns.items + [i] %}{% endfor %}{{ ns.items }}
{% for i in range(3) %}{% macro inner() %}{{ i }}{% endmacro %}{{ inner() }}{% endfor %}
{% macro outer() %}{% macro inner() %}in{% endmacro %}{{ inner() }}{% set v = 1 %}{{ v }}{% endmacro %}{{ outer() }}{{ v is defined }}{{ inner is defined }}
{{ f(*[1, 2]) if f is defined }}{% macro g(a, b, c=0) %}{{ a }}{{ b }}{{ c }}{% endmacro %}{{ g(*[1, 2], **{'c': 3}) }}{{ g(1, *[2]) }}
{{ 'a' if undefinedvar is not defined else undefinedvar.x }}{{ (undefinedvar or {}).x is defined }}{{ undefinedvar | default({}) | length }}
{{ true }}{{ True }}{{ none }}{{ None }}{{ false }}{{ False }}{{ [true, none] }}
{{ 9223372036854775807 }}|{{ -9223372036854775807 }}|{{ 4611686018427387904 * 1 }}|{{ 3 ** 39 }}
{% if messages[0]['role'] == 'user' and messages|length > 1 and not messages[0].tool_calls %}ok{% endif %}{% if 'a' in messages[0] or 'role' in messages[0] %}ok2{% endif %}
{%- set q %}{{ 'x' }}{% endset -%}{{ q is string }}{{ q ~ q }}{{ q == 'x' }}
{{ loop is defined }}{% for x in [1] %}{{ loop is defined }}{% endfor %}{{ loop is defined }}
{% for x in [[1, 2], [3]] %}{% set outer = loop %}{% for y in x %}{{ outer.index }}.{{ loop.index }} {% endfor %}{% endfor %}
{{ [1, 2, 3] | map('string') | join(', ') }}{{ {'x': [1, 2]} | tojson | length }}{{ (messages | first).role }}{{ messages | first | length }}
{{ ['a', 'b'] | join(' and ') | upper }}{{ 'a b c'.split() | map('upper') | join }}{{ 'abc' | map('upper') | list }}
{{ 'Iñtërnâtiônàlizætiøn' | upper }}|{{ 'ÀÈ' | title }}|{{ 'éa' | capitalize }}|{{ 'ﬁne' | capitalize }}|{{ 'ŉa' | title }}
{{ '  a\u2003b\x1fc '.split() }}|{{ 'a\x1cb'.splitlines() }}|{{ '\ufeffx'.strip() | length }}
{{ 'a;b'.split(';')[0] }}{{ 'k: v'.split(': ', 1)[1] }}{% set parts = 'a</think>b'.split('</think>') %}{{ parts[-1] }}{{ parts | first }}
{{ {'a': none} | tojson }}{{ {'a': {'b': [true, false]}} | tojson }}{{ '</script>' | tojson }}{{ "\u2028\u007f" | tojson }}
{{ (1, 2, 'x') | tojson }}{{ 'abc' | tojson | tojson }}{{ 5 | tojson }}{{ none | tojson }}{{ -0.0 | tojson }}{{ 1.5e300 | tojson }}{{ 123456789012345680.0 | tojson }}
{% set m = messages[0] %}{% for key in m %}{{ key }}:{{ m[key] }};{% endfor %}{% for key, value in m | items %}{{ key }}={{ value }};{% endfor %}{% for key, value in m | dictsort %}{{ key }}{% endfor %}
{{ x.y.z is defined }}
{% if x.y is defined %}{% endif %}
{{ 'a' > 'A' }}|{{ 'é' > 'z' }}|{{ '' < 'a' }}|{{ [] == [] }}|{{ 1 == '1' }}|{{ 1.0 is eq 1 }}
{{ 10 | string | length }}{{ 3.0 | string }}{{ 1e100 }}{{ 123456789.123456789 }}{{ 0.00001234 }}{{ 100000000000000000000.0 }}{{ 5e-324 }}
{% for k, v in [('a', 1), ('b', 2)] if v > 1 %}{{ k }}{{ v }}{% endfor %}{% for i in [3, 1, 2] | sort %}{{ i }}{{ ',' if not loop.last }}{% endfor %}
{{ ' a b c '.split(none, 1) }}|{{ ' a b c '.split(none, 0) }}|{{ ' a b '.rsplit(none, 0) }}
{{ ''.join(['a', 'b']) ~ '\n' if true }}{{ "a" if "b" in "abc" and not ("z" in "abc") else "c" }}{{ ("x" * 3)[1:] }}
{% set content = messages[2].content | trim %}{{ content }}{{ content[:3] }}{{ content | length }}{{ content.split(' ') | length }}
{{ ['x'] * 3 }}{{ ([1, 2] + [3])[::-1] }}{{ [[1, 2], [3, 4]] | sum(start=[]) }}
{% macro a() %}{% set x = 1 %}{{ x }}{% endmacro %}{{ a() }}{{ a() ~ a() }}{% set r = a() %}{{ r | length }}
{%- if x is defined -%} a {%- else -%} b {%- endif -%}
{{- "a" -}} {{- "b" }} {{ "c" -}}
{% for x in ['a'] -%} {{ x }} {%- endfor %} {% if 1 -%} y {%- endif %}
{{"a"}}{{'b'}}{%if 1%}c{%endif%}{%for x in [1]%}{{x}}{%endfor%}
"""

ERRORS_AT_PARSE = r"""
{% for m in %}
{{ 'a' | nosuchfilter }}
{{ 'a' is nosuchtest }}
{% if true %}
{% endif %}
{{ 1 + }}
{{ (1 }}
{{ 'abc }}
{% nosuchtag %}
{{ a b }}
{# open
{% raw %} open
{% set 1 = 2 %}
{% set true = 2 %}
{% for x in y %}{% endif %}
{% macro f( %}{% endmacro %}
{% macro f(a=1, b) %}{% endmacro %}
{{ f(a=1, 2) }}
{{ [1, 2 }}
{{ ) }}
{{ $ }}
{% break %}
{% else %}
{{ }}
{% set x = %}
{{ a. }}
{{ a[ }}
{{ x is }}
{{ x | }}
{% call 5 %}{% endcall %}
{{ '\x4' }}
"""


TOOLS = [{"type": "function", "function": {
    "name": "get_weather", "description": "Weather <now> & \"later\" für Orte",
    "parameters": {"type": "object", "required": ["city"], "properties": {
        "city": {"type": "string", "description": "The city", "enum": ["Paris", "Köln"]},
        "days": {"type": "integer", "default": 3}}}}}]
USER = {"role": "user", "content": "Ping  "}
REPLY = {"role": "assistant", "content": "  Pong\n"}
SYSTEM = {"role": "system", "content": " Be brief.\n"}
CALL = {"id": "call12345", "type": "function",
        "function": {"name": "get_weather", "arguments": {"city": "Köln", "days": 2, "x": None}}}
ANSWER = {"role": "tool", "content": "{\"t\": 5}", "tool_call_id": "call12345",
          "name": "get_weather"}
CALL_IN_TEXT = {**CALL, "function": {"name": "get_weather", "arguments": "{\"city\": \"Paris\"}"}}

# Name, messages, tools.
CONVERSATIONS = [
    ("three users", [USER, USER, USER], None),
    ("three assistants", [USER, REPLY, REPLY, REPLY], None),
    ("turns", [SYSTEM, USER, REPLY, USER], None),
    ("tools", [SYSTEM, USER], TOOLS),
    ("null content",
     [USER, {"role": "assistant", "content": None, "tool_calls": [CALL]}, ANSWER], TOOLS),
    ("call without content",
     [USER, {"role": "assistant", "tool_calls": [CALL_IN_TEXT]}, ANSWER, REPLY, USER], TOOLS),
    ("no content", [{"role": "user"}], None),
    ("thought",
     [USER, {"role": "assistant", "content": "<think>\nsum\n</think>\n\n4"}, USER], None),
    ("no messages", [], None),
]


class Generation(jinja2.ext.Extension):
    """The generation tag of transformers, which only marks text."""

    tags = {"generation"}

    def parse(self, parser):
        line = next(parser.stream).lineno
        body = parser.parse_statements(["name:endgeneration"], drop_needle=True)
        call = self.call_method("_generation")
        return jinja2.nodes.CallBlock(call, [], [], body).set_lineno(line)

    def _generation(self, caller):
        return caller()


def make_environment():
    environment = jinja2.sandbox.ImmutableSandboxedEnvironment(
        trim_blocks=True,
        lstrip_blocks=True,
        extensions=["jinja2.ext.loopcontrols", Generation],
    )

    def tojson(value, ensure_ascii=False, indent=None, separators=None, sort_keys=False):
        return json.dumps(value, ensure_ascii=ensure_ascii, indent=indent,
                          separators=separators, sort_keys=sort_keys)

    def raise_exception(message):
        raise jinja2.exceptions.TemplateError(message)

    def strftime_now(pattern):
        return datetime.datetime.fromtimestamp(NOW, datetime.timezone.utc).strftime(pattern)

    environment.filters["tojson"] = tojson
    environment.globals["raise_exception"] = raise_exception
    environment.globals["strftime_now"] = strftime_now
    return environment


def split_snippets(text):
    """One snippet a line; a line that does not start with a tag continues the one before."""
    snippets = []
    for line in text.strip("\n").split("\n"):
        starts = line.startswith(("{{ ", "{% ", "{{\"", "{{- ", "{# ", "{%- if x", "{%- set q"))
        if starts or not snippets:
            snippets.append(line)
        else:
            snippets[-1] += "\n" + line
    return snippets


def render(environment, source):
    try:
        return environment.from_string(source).render(messages=MESSAGES, bos_token="<s>",
                                                      eos_token="</s>",
                                                      add_generation_prompt=True)
    except Exception:  # every failure is the same to the interpreter's test
        return None


def render_conversation(template, messages, variables):
    """The text, or the sentence of a failure.

    Like qualia, gives an assistant's message without content an empty one where the template fails.
    """
    try:
        return {"expected": template.render(messages=messages, **variables)}
    except Exception as error:
        if type(error) is jinja2.exceptions.TemplateError:
            return {"error": str(error)}
        filled = [{**message, "content": ""}
                  if message["role"] == "assistant" and message.get("content") is None else message
                  for message in messages]
        if filled != messages:
            return render_conversation(template, filled, variables)
        return {"error": ""}


def write_conversations(environment, folder):
    with open(folder / "conversations.jsonl", "w", encoding="utf-8") as out:
        for path in sorted(folder.glob("*.jinja")):
            template = environment.from_string(path.read_text(encoding="utf-8"))
            for name, messages, tools in CONVERSATIONS:
                row = {"template": path.name, "name": name, "now": NOW, "messages": messages}
                variables = {"bos_token": "<s>", "eos_token": "</s>", "enable_thinking": True,
                             "add_generation_prompt": messages != [] and name != "turns"}
                row["add_generation_prompt"] = variables["add_generation_prompt"]
                if tools:
                    row["tools"] = variables["tools"] = tools
                row.update(render_conversation(template, messages, variables))
                out.write(json.dumps(row, ensure_ascii=False) + "\n")


def main():
    environment = make_environment()
    folder = pathlib.Path("tests/data/template")
    folder.mkdir(parents=True, exist_ok=True)
    write_conversations(environment, folder)
    with open(folder / "jinja_cases.jsonl", "w", encoding="utf-8") as out:
        header = {"jinja2": jinja2.__version__, "now": NOW, "messages": MESSAGES}
        out.write(json.dumps(header, ensure_ascii=False) + "\n")
        for source in split_snippets(SNIPPETS):
            text = render(environment, source)
            row = {"template": source}
            row.update({"error": True} if text is None else {"expected": text})
            out.write(json.dumps(row, ensure_ascii=False) + "\n")
        for source in split_snippets(ERRORS_AT_PARSE):
            assert render(environment, source) is None, source
            out.write(json.dumps({"template": source, "error": True, "at_parse": True}) + "\n")


if __name__ == "__main__":
    main()
