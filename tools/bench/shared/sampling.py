# SPDX-License-Identifier: Apache-2.0
"""What `sample` must give: each token is the one that its random number names among those that the filters keep; and what else is told.

Masses are powers of f32: a sum of them may be off by NEAR of the whole, so what lies on the edge of a filter may stay or go."""
import math

from shared.rows import ROWS_AT_ONCE, order, place, take, top, total

NEAR = 2.0**-16
MATRICES = ("x", "mask", "counts", "top_tokens", "top_log_probabilities", "probabilities", "draft_probabilities")  # others have one value a row


def philox(seed, offset):
    """Two numbers from 0 to 1 a row, of 64 bits each: those of Philox4x32-10 with this key and counter. NumPy's uint64."""
    import numpy as np
    low, key = np.uint64(0xffffffff), [seed & np.uint64(0xffffffff), seed >> np.uint64(32)]
    c = [offset & low, offset >> np.uint64(32), np.zeros_like(seed), np.zeros_like(seed)]
    for _ in range(10):
        a, b = c[0] * np.uint64(0xd2511f53), c[2] * np.uint64(0xcd9e8d57)
        c = [b >> np.uint64(32) ^ c[1] ^ key[0], b & low, a >> np.uint64(32) ^ c[3] ^ key[1], a & low]
        key = [key[0] + np.uint64(0x9e3779b9) & low, key[1] + np.uint64(0xbb67ae85) & low]
    return np.concatenate([(c[1] * 2.0**32 + c[0]) / 2.0**64, (c[3] * 2.0**32 + c[2]) / 2.0**64], -1)


def single(x):
    """Rounded to f32: float64 holds the sum, the product and the quotient of two f32 closely enough for that."""
    return x.float().double() if hasattr(x, "is_cuda") else x.astype("float32").astype("float64")


def allowed_logits(xp, x):
    """The logits after penalties, each step in f32, and the mask."""
    logits = x["x"]
    if "counts" in x:
        repetition, counts = x["repetition"].T, single(x["counts"])
        lower = single(single(xp.where(logits > 0, single(logits / repetition), single(logits * repetition))
                              - single(counts * x["frequency"].T)) - x["presence"].T)
        logits = xp.where(counts > 0, lower, logits)
    if "mask" in x:
        bits = x["mask"][..., None] >> xp.arange(32, **place(x["mask"])) & 1
        logits = xp.where(bits.reshape(bits.shape[0], -1)[:, :logits.shape[-1]] > 0, logits, -math.inf)
    return logits


class Kept:
    """The masses, of 1 for the greatest logit, of the tokens that the filters keep, in the order of falling logits (`sorted`, whose
    indices are `places`) and by index. near: what is on a filter's edge stays, or, below 0, goes."""

    def __init__(self, xp, form, x, near):
        masses = xp.exp((x["x"] - top(xp, x["x"])) / x["temperature"].T)
        masses = xp.where(masses >= 2.0**-41, masses, 0.0)
        self.places = order(xp, -x["x"])  # equal ones by index
        kept = take(xp, masses, self.places)
        kept = kept * (xp.arange(kept.shape[-1], **place(masses))[None] < (form["top_k"] or kept.shape[-1]))
        if form["top_p"]:
            kept = kept * (kept.cumsum(-1) - kept < (form["top_p"] + near) * total(kept))
        if form["min_p"]:
            kept = kept * (kept >= form["min_p"] * (1 - near))
        self.sorted, self.masses = kept, take(xp, kept, order(xp, self.places))
        self.count = total((kept > 0) * 1)


class Rows:
    """Some rows of a request: what was found, what the filters keep at least and at most, and how far a share may be off."""

    def __init__(self, request, store, rows):
        xp = self.xp = store.xp
        x, self.found = ({a.name: store.wide(a, rows) if a.name in MATRICES else store.wide(a, columns=rows) for a in arrays}
                         for arrays in (request.inputs, request.outputs))
        self.draft, self.token = {name: x[name] for name in x if name.startswith("draft")}, self.found["tokens"].T
        seed = x["seed"].T
        random = store.numbers(philox, seed, x["offset"].T if "offset" in x else seed * 0)
        self.u, self.second = random[:, :1], random[:, 1:]
        x["x"] = allowed_logits(xp, x)
        self.empty = top(xp, x["x"]) == -math.inf
        x["x"] = xp.where(self.empty, 0.0, x["x"])
        self.some, self.most = (Kept(xp, request.form, x, near) for near in (-NEAR, NEAR))
        self.slack = NEAR + total(self.most.masses - self.some.masses) / total(self.most.masses)
        self.outside = (self.token < 0) | (self.token >= x["x"].shape[-1])
        self.at = xp.where(self.outside, 0, self.token)
        self.shares = self.some.masses / total(self.some.masses)

    def decided(self):
        """Which rows must not, and which must take the draft's token; the shares that others draw from; and how far these may be off."""
        xp, tokens = self.xp, self.draft["draft_tokens"].T
        q = xp.minimum(xp.round(self.draft["draft_probabilities"] * 2.0**32), xp.zeros_like(self.shares) + (2.0**32 - 1)) / 2.0**32
        place_of = xp.where(tokens < 0, 0, tokens)
        above = take(xp, self.shares, place_of) - self.second * take(xp, q, place_of)
        rest = xp.where(self.shares > q, self.shares - q, 0.0)
        left = (total(rest) > 0) & (tokens >= 0)
        whole = xp.where(left, total(rest), 1.0)
        return (tokens < 0) | (above < -self.slack), (tokens >= 0) & (above > self.slack), xp.where(left, rest, self.shares) / whole, \
            2 * self.slack / whole

    def wrong_tokens(self):
        """Of each row whether its token is wrong, and how far its random number is from it, of what is allowed."""
        xp, shares, slack, accepted = self.xp, self.shares, self.slack, self.empty & False
        wrong = xp.where(self.empty, self.token != -1, self.outside | (take(xp, self.most.masses, self.at) <= 0))
        if self.draft:
            refused, taken, shares, slack = self.decided()
            told = self.found["accepted"].T
            accepted = told == 1
            wrong = wrong | (told != 0) & ~accepted | ~self.empty & xp.where(accepted, refused | (self.token != self.draft["draft_tokens"].T), taken)
        high = take(xp, shares.cumsum(-1), self.at)
        low = high - take(xp, shares, self.at)
        away = xp.where(self.u < low, low - self.u, xp.where(self.u > high, self.u - high, 0.0)) * ~(self.empty | accepted)
        return wrong | ~(away <= slack), away / slack

    def check(self, wrong, name, found, want):
        """The first row that is wrong, in words."""
        if not bool(wrong.any()):
            return ""
        r = int(self.xp.argmax(wrong.any(-1).reshape(-1) * 1))
        c = int(self.xp.argmax(wrong[r] * 1))
        return f"{r}: {name}[{c}] is {found[r, c].item():.9g}, not {want[r, c].item():.9g}"

    def near(self, name, found, want, either):
        """Logarithms of probabilities; of the places in `either` they may also be -infinity."""
        close = abs(found - want) <= 1e-4 + 2 * self.slack
        return self.check(~(close | (found == want) | either & (found == -math.inf)), name, found, want)

    def wrong_log_probability(self):
        want = self.xp.log(take(self.xp, self.most.masses, self.at) / total(self.most.masses))
        want = self.xp.where(self.empty, -math.inf, want)
        return self.near("log_probability", self.found["log_probability"].T, want, self.empty & False)

    def wrong_top(self):
        """Of tokens beyond the last one -1, of those on a filter's edge either."""
        xp, found = self.xp, self.found["top_tokens"]
        slots = xp.arange(found.shape[-1], **place(found))[None] + 0 * found
        most, some = (xp.where(self.empty, 0, kept.count) for kept in (self.most, self.some))
        at, either = xp.where(slots < most, slots, 0), (slots >= some) & (slots < most)
        want = xp.where(slots < most, take(xp, self.most.places, at), -1)
        wrong = (found != want) & ~(either & (found == -1))
        logs = xp.where(slots < most, xp.log(take(xp, self.most.sorted, at) / total(self.most.masses)), -math.inf)
        return self.check(wrong, "top_tokens", found, want) or \
            self.near("top_log_probabilities", self.found["top_log_probabilities"], logs, either)

    def wrong_probabilities(self):
        xp, found = self.xp, self.found["probabilities"]
        want = xp.where(self.empty, 0.0, self.most.masses / total(self.most.masses))
        close = abs(found - want) <= want * (1e-4 + 2 * self.slack) + 1e-7
        return self.check(~(close | (self.some.masses == 0) & (found == 0)), "probabilities", found, want)


def check_rows(request, store, rows):
    """The worst share of what is allowed, and what is wrong."""
    part = Rows(request, store, rows)
    wrong, shares = part.wrong_tokens()
    if bool(wrong.any()):
        r = int(store.xp.argmax(wrong.reshape(-1) * 1))
        return 2.0, f"row {rows.start + r}: token {int(part.token[r, 0])} is not the one at {float(part.u[r, 0]):.6f} of what the filters keep"
    for name, look in (("log_probability", part.wrong_log_probability), ("top_tokens", part.wrong_top),
                       ("probabilities", part.wrong_probabilities)):
        text = look() if name in part.found else ""
        if text:
            return 2.0, f"of row {rows.start} and row {text}"
    return float(shares.max()), ""


def check(request, store, bound):
    x, worst = request.inputs[0], 0.0
    once = max(1, ROWS_AT_ONCE // x.columns)
    for row in range(0, x.rows, once):
        share, text = check_rows(request, store, slice(row, min(x.rows, row + once)))
        worst = max(worst, share)
        if text:
            return worst, text
    return worst, ""
