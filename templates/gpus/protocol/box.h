// SPDX-License-Identifier: Apache-2.0
// A GPU's box: the memory in which its peers leave messages.
//
//   box:  | failed | hello[2][GPUS] | epoch[blocks] | mail[2]: slots of each sender | words[2] | flag[2][GPUS][blocks] |
//
// Words without tags have memory of their own: what stays there from an earlier launch could look like a word with a tag that is waited for.
//
// Flags are of kernels that copy into the arrays themselves: that a block of a GPU has begun, and that it has ended.
//
// The kernel's text says how large the two sets of mail are, so the kernels of a box agree on that.
#ifndef CJ_TEMPLATES_GPUS_BOX_H
#define CJ_TEMPLATES_GPUS_BOX_H

enum {
    CJ_BOX_GPUS = 8,      // at most
    CJ_BOX_BLOCKS = 256,  // of a launch, at most
    CJ_BOX_FAILED = 0,    // u32: cause << 8 | the rank it is about; 0: all is well
    CJ_BOX_HELLO = 64,    // a word with its tag of each peer, of each set
    CJ_BOX_EPOCH = 512,  // u32 each: of the last launch
    CJ_BOX_MAIL = CJ_BOX_EPOCH + 4 * CJ_BOX_BLOCKS,
    CJ_BOX_SETS = 3,  // of mail: two with tags, and one whose halves are the sets of words without tags
    CJ_BOX_FLAGS_SENDER = 8 * CJ_BOX_BLOCKS,
    CJ_BOX_FLAGS_PHASE = CJ_BOX_GPUS * CJ_BOX_FLAGS_SENDER,
    CJ_BOX_FLAGS = 2 * CJ_BOX_FLAGS_PHASE  // bytes, after the mail
};

// Why a kernel gave up: the rank did not come within the limit; or it came with another description.
typedef enum cj_box_cause { CJ_BOX_ABSENT = 1, CJ_BOX_DIFFERS = 2 } cj_box_cause;

#endif
