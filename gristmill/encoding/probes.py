"""Texts on which two implementations of a tokenizer are compared, before the faster one is used.

They cover cases where implementations differ or may differ: where added tokens are found, white-space runs, the regex
of the pre-tokenizer (contractions, digits, marks, scripts without spaces), normalization and its Unicode version,
control characters, very long pieces, and merges of the tokenizer's own vocabulary.
"""

from collections.abc import Sequence

from tokenizers import Tokenizer

PROBES = 2
"""Version of the probes. Raise it when they change."""

SAMPLED_TOKENS = 4_096  # tokens of the vocabulary that are decoded into probes
TOKENS_A_PROBE = 16
SWEPT = (  # code points that are tried one by one: letters, marks and symbols, without ideographs and Hangul
    range(0x3400),
    range(0xA000, 0xAC00),
    range(0xF900, 0x10000),
    range(0x10000, 0x12400),
    range(0x16A00, 0x17000),
    range(0x1B000, 0x1B300),
    range(0x1D000, 0x1D800),
    range(0x1E000, 0x1FB00),
    range(0xE0000, 0xE0200),
)
SWEPT_A_PROBE = 64

RUN_EDGES = ("", "a", "1", ".", "'s", "\n", "\n\n", "\t", "\r\n", "\x0b", "\x0c", "\u00a0", "\u0301", "\u4f60")
"""Neighbours of runs of spaces, before and after."""
RUNS = (1, 2, 3, 8, 24, 25, 26, 49)

FIXED = (
    "",
    " ",
    "\n",
    "\r",
    "\x00",
    "a\x00b \x00 c\x00\x00",
    "lone\rcarriage\r\rreturns\r\nand\n\rmixed\r\n\r\n",
    "\t\ttabs\t \tand  spaces   and    more     \n\n\n   \n  end  ",
    "trailing ",
    "   leading",
    *(" " * count + "x" + " " * count for count in (2, 3, 7, 8, 9, 23, 24, 25, 26, 31, 32, 33, 64, 81, 128)),
    "\n" * 40 + "\t" * 40 + " \n" * 40,
    ("\u00a0no\u00a0break\u2003em\u3000ideographic\u2028line\u2029paragraph\u0085next\x0bvertical\x0cform\x1cfile\x1f"),
    "zero\u200bwidth\u200djoiner\ufeffmark\u2060word\u00adsoft\u180e",
    "I'm you're he'll she'd they've it's DON'T I'M YOU'RE we\u2019re 'sit 's'S 'll'LL 'tis ''s",
    (
        "1 12 123 1234 12345 1234567890 3.14159 1,000,000 0x1F 1e-10 2024-12-31T23:59:59Z "
        "\u0661\u0662\u0663 \u00bd\u00b2\u2167"
    ),
    "CamelCase snake_case SCREAMING_CASE kebab-case dotted.name a.b.c __init__ x1y2z3",
    ("if (a[i] != b->c && !d) { return x ? y : z; } // \u00a9 ... --- === ### *** ~~~ $$$ @@@ ^^^ ``` \\\\ \"'\"'"),
    '<html><body class="x">&nbsp;&#x27;</body></html> https://example.org/a?b=c&d=%20e#f me@example.org',
    (
        "caf\u00e9 cafe\u0301 \u00c5 A\u030a \u212b \u1e69 s\u0323\u0307 s\u0307\u0323 \u0344 \ufb01 "
        "\u2460 \uff21\uff22\uff23 \u00df\u1e9e \u0130i\u0131I"
    ),
    "e\u0301\u0302\u0303\u0304\u0305\u0306\u0307\u0308 \u0301alone \u200d\u0301 o\u0338\u0328",
    (
        "Stra\u00dfe gr\u00fc\u00dft \u00c6r\u00f8 \u0141\u00f3d\u017a \u0111\u1ed3ng Ti\u1ebfng "
        "Vi\u1ec7t \u0391\u03b8\u03ae\u03bd\u03b1 \u041c\u043e\u0441\u043a\u0432\u0430 "
        "\u0457\u0436\u0430\u043a \u0531\u0580\u0587"
    ),
    (
        "\u4f60\u597d\uff0c\u4e16\u754c\u3002\u65e5\u672c\u8a9e\u306e\u30c6\u30ad\u30b9\u30c8\u3068"
        "\uff76\uff80\uff76\uff85\u3002\ud55c\uad6d\uc5b4 "
        "\u1112\u1161\u11ab\u1100\u116e\u11a8 \U00020bb7\U0002a6d6\uf900\ufa30"
    ),
    (
        "\u05e9\u05dc\u05d5\u05dd \u05e2\u05d5\u05dc\u05dd \u0645\u0631\u062d\u0628\u0627 "
        "\u0628\u0627\u0644\u0639\u0627\u0644\u0645 \u0644\u0627\u0644\u0644\u0647 "
        "\u0627\u0644\u0633\u0651\u064e\u0644\u0627\u0645\u064f \u202b\u202e rtl \u202c "
        "\u06cc\u200c\u06a9"
    ),
    (
        "\u0928\u092e\u0938\u094d\u0924\u0947 \u0915\u094d\u0937 \u0958 "
        "\u0c24\u0c46\u0c32\u0c41\u0c17\u0c41 "
        "\u0e2a\u0e27\u0e31\u0e2a\u0e14\u0e35\u0e0a\u0e32\u0e27\u0e42\u0e25\u0e01 "
        "\u0eaa\u0eb0\u0e9a\u0eb2\u0e8d\u0e94\u0eb5 \u1019\u103c\u1014\u103a\u1019\u102c "
        "\u0f56\u0f7c\u0f51\u0f0b\u0f66\u0f90\u0f51\u0f0b \u1780\u17d2\u1798\u17c2\u179a"
    ),
    (
        "\U0001f600 \U0001f468\u200d\U0001f469\u200d\U0001f467\u200d\U0001f466 "
        "\U0001f1e9\U0001f1ea\U0001f1eb \U0001f44d\U0001f3fd \u2764\ufe0f 1\ufe0f\u20e3 "
        "\U0001f3f4\U000e0067\U000e0062\U000e007f\U0001f9d1\u200d\U0001f680"
    ),
    ("\ufffd \ufffe \uffff \U0010ffff \ue000 \uf8ff \U000f0000 \u0378 \U0001fbff \x7f \x80 \x9f \x01\x02\x1b[0m"),
    "\u00c3\u00a9 \u00e2\u20ac\u2122 mojibake \u00ef\u00bb\u00bf",
    "aaaa" * 700 + " " + "ab" * 1500 + " " + "\u00e9" * 900 + " " + "\u4e00" * 900 + " " + "\U0001f600" * 300,
    "0" * 2000 + " " + "=" * 2000 + " " + "\u0301" * 200 + " " + "word" * 500,
    "\n" * 1000 + " " * 3000 + "end",
    "A" * 200 + "a" * 200 + "1" * 200 + "!" * 200 + "A1!a" * 100,
)


def probe_texts(reference: Tokenizer) -> list[str]:
    """All probes for a tokenizer.

    They are the fixed texts, runs of spaces, a sweep of code points, and texts made of the tokenizer's own tokens.

    Args:
        reference: the tokenizer, loaded by `tokenizers`.
    """
    added = [token.content for _, token in sorted(reference.get_added_tokens_decoder().items())]
    decoded = _sampled_token_probes(reference)
    # The last probe joins the others, because implementations may treat long texts differently.
    return [
        *FIXED,
        *_space_run_probes(),
        *_code_point_probes(),
        *_added_token_probes(added),
        *decoded,
        " ".join((*FIXED, *decoded)),
    ]


def _space_run_probes() -> list[str]:
    """Runs of spaces between all pairs of neighbours."""
    return [
        "x".join(f"{before}{' ' * count}{behind}" for before in RUN_EDGES for behind in RUN_EDGES) for count in RUNS
    ]


def _code_point_probes() -> list[str]:
    """All code points of the swept blocks, each after a letter and after a space."""
    points = [chr(point) for block in SWEPT for point in block]
    groups = [points[start : start + SWEPT_A_PROBE] for start in range(0, len(points), SWEPT_A_PROBE)]
    return ["".join(f"a{point} {point}" for point in group) for group in groups]


def _added_token_probes(added: Sequence[str]) -> list[str]:
    """Each added token alone, in text, doubled, cut short, in other case; and all of them in a row."""
    texts = ["".join(added), " ".join(added), "x".join(reversed(added))]
    for token in added[:256]:
        texts.append(f"{token} {token}{token}\n{token}a{token} b{token}1 {token}\u0301 .{token}. {token[:-1]} ")
        texts.append(f"a{token}  {token}  {token[1:]}{token.lower()}{token.upper()}\t{token}")
    return texts


def _sampled_token_probes(reference: Tokenizer) -> list[str]:
    """Texts of tokens that are sampled evenly over the vocabulary."""
    top = reference.get_vocab_size()
    ids = range(0, top, max(1, top // SAMPLED_TOKENS))
    groups = [list(ids[start : start + TOKENS_A_PROBE]) for start in range(0, len(ids), TOKENS_A_PROBE)]
    texts: list[str] = reference.decode_batch(groups, skip_special_tokens=False)
    return texts
