# SPDX-License-Identifier: Apache-2.0
"""What the benchmarks in Python share: shapes, references, peers, judging, and jobs that compile ahead."""
