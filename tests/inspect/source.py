# SPDX-License-Identifier: Apache-2.0
"""C sources, for the checks beside this file."""
import re


def plain(text):
    """Without comments and what strings say; places stay the same."""
    def blank(match):
        return match[0][0] + "_" * (len(match[0]) - 2) + match[0][-1] if match[0][0] in "\"'" else " " * len(match[0])
    return re.sub(r'"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\])\'|//[^\n]*', blank, text)
