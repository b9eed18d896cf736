# SPDX-License-Identifier: Apache-2.0
"""Code as HTML: comments, strings, numbers and keywords in spans of the classes c, s, n and k."""
import html
import re

C_WORDS = """auto bool break case char class const constexpr continue default do double else enum explicit extern false
float for goto if inline int int32_t int64_t long namespace noexcept nullptr operator private public return short signed
size_t sizeof static struct switch template this true typedef typename uint16_t uint32_t uint64_t uint8_t union unsigned
using void volatile while __global__ __device__ __shared__ __restrict__"""
PYTHON_WORDS = """False None True and as assert break class continue def del elif else except finally for from global if
import in is lambda not or pass raise return try while with yield"""
SHELL_WORDS = "if then else fi for do done while in export"

# language: comment, string, keyword, as regular expressions
QUOTED = r'"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\''
C = (r"//[^\n]*|/\*.*?\*/", QUOTED, r"^[ \t]*#[ \t]*\w+|\b(?:%s)\b" % "|".join(C_WORDS.split()))
PYTHON = (r"#[^\n]*", r'"""(?:.|\n)*?"""|' + QUOTED, r"\b(?:%s)\b" % "|".join(PYTHON_WORDS.split()))
SHELL = (r"(?:^|(?<=\s))#[^\n]*", r"'[^'\n]*'|\"[^\"\n]*\"", r"\b(?:%s)\b" % "|".join(SHELL_WORDS.split()))
PTX = (r"//[^\n]*", r'"[^"\n]*"', r"(?<![\w%])\.(?:version|target|address_size|visible|entry|param|reg|shared|align|extern|"
       r"func|reqntid|explicitcluster|reqnctapercluster|maxclusterrank)\b")
LANGUAGES = {"c": C, "h": C, "c++": C, "cpp": C, "hpp": C, "cu": C, "def": C, "python": PYTHON, "py": PYTHON, "sh": SHELL,
             "bash": SHELL, "ptx": PTX, "cmake": SHELL, "yml": SHELL}
NUMBER = r"(?<![\w%.$])(?:0[xf][0-9a-fA-F]+|\d[\d.]*(?:e[-+]?\d+)?)[a-zA-Z]{0,3}\b"


def highlight(text, language):
    """HTML of the text; of a language that is unknown, without spans."""
    if language not in LANGUAGES:
        return html.escape(text, quote=False)
    comment, string, keyword = LANGUAGES[language]
    pattern = re.compile(f"(?P<c>{comment})|(?P<s>{string})|(?P<k>{keyword})|(?P<n>{NUMBER})", re.M | re.S)
    made, end = [], 0
    for found in pattern.finditer(text):
        made.append(html.escape(text[end:found.start()], quote=False))
        made.append(f'<span class="{found.lastgroup}">{html.escape(found[0], quote=False)}</span>')
        end = found.end()
    return "".join(made) + html.escape(text[end:], quote=False)
