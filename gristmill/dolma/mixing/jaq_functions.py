"""Functions of jq as jaq has them, the engine of Dolma's mixer: both give an answer, and the answers differ.

jaq drops a match that begins at the end of the text, so `test("^$")` of an empty text is false. It also drops an empty
match right after another match, and a group that matched nothing. Only JSON gives numbers. Times have fractions.
"""

JAQ_FUNCTIONS = r"""
def _match($re; $flags): match($re; $flags);
def match($re; $flags): length as $size | foreach _match($re; $flags) as $m ({};
    {before: .end, end: ($m.offset + $m.length)};
    select($m.offset < $size and ($m.length > 0 or $m.offset != .before)) | $m
    | if .captures == [] then . else .captures |= map(select(.string) | if .name then . else del(.name) end) end);
def match($re): match($re; "");
def _named: .captures | map(select(.name) | {(.name): .string}) | add // {};
def capture($re; $flags): match($re; $flags) | _named;
def capture($re): capture($re; "");
def _test($re): test($re);
def test($re; $flags): isempty(match($re; $flags)) | not;
def test($re): test($re; "");
def split($re; $flags): . as $text | [foreach (match($re; "g" + $flags), null) as $m ({};
    {at: .end, end: ($m.offset + $m.length)}; $text[.at:$m.offset])];
def _split($by): split($by);
def split($by): if . == "" and $by != "" then [""] else _split($by) end;
def splits($re; $flags): split($re; $flags)[];
def splits($re): splits($re; "");
def sub($re; by; $flags): . as $text | reduce match($re; $flags) as $m ({done: [""]};
    $text[.at:$m.offset] as $gap
    | {at: ($m.offset + $m.length), done: [.done[] as $done | $m | _named | $done + $gap + by]})
  | .done[] + $text[.at:];
def sub($re; by): sub($re; by; "");
def gsub($re; by; $flags): sub($re; by; "g" + $flags);
def gsub($re; by): gsub($re; by; "");
def _unread: error("\(tojson[:80]) is not read here");
def _fromjson: fromjson;
def _tonumber: tonumber;
def fromjson: if _test("\\A(?>[\\[\\]{},: \\t\\r\\n]|\"(?>[^\"\\\\]|\\\\.)*+\"|true|false|null" +
    "|-?(?:0|[1-9][0-9]*)(?:\\.[0-9]+)?(?:[eE][+-]?[0-9]+)?(?![\\w.+-]))++\\z") then _fromjson else _unread end;
def tonumber: if type == "string" then fromjson elif type == "number" then . else _unread end;
def nearbyint: round;
def _todate: todate;
def todate: if type == "number" and (tostring | _test("[.eE]")) then (. * 1e9 | trunc) as $all
    | ($all - 1e9 * ($all / 1e9 | floor)) as $part
    | ($all - $part) / 1e9 | _todate[:-1] + ".\(1e9 + $part | tostring[1:])Z" else _todate end;
def todateiso8601: todate;
def _fromdate: fromdate;
def fromdate: . as $text
  | [_match("\\A(.{19})(\\.[0-9]+)?(?:Z|([+-])([01][0-9]|2[0-3]):([0-5][0-9]))\\z"; "").captures[].string]
  | if . == [] then $text | _unread end
  | (.[0] + "Z") as $whole | ($whole | _fromdate) as $time | if ($time | _todate) != $whole then $text | _unread end
  | $time - ((.[2] // "+") + "1" | _tonumber) * (60 * (.[3] // 0 | _tonumber) + (.[4] // 0 | _tonumber)) * 60
    + if .[1] then (.[1][1:] + "000000000" | .[:9] | _tonumber) * 1e-9 else 0 end;
def fromdateiso8601: fromdate;
"""
"""Definitions in jq. No expression can call those whose names begin with `_`."""
