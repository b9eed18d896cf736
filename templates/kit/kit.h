// SPDX-License-Identifier: Apache-2.0
// What the header of a family and the kit's own files include: all that plans and emitters are written with.
#ifndef CJ_TEMPLATES_KIT_H
#define CJ_TEMPLATES_KIT_H

#include <clusterjit/pipeline.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "collective_parts.h"
#include "combine.h"
#include "error.h"
#include "family.h"
#include "gather.h"
#include "last.h"
#include "lookback.h"
#include "loop.h"
#include "mailbox.h"
#include "numbers.h"
#include "occupancy.h"
#include "schedule.h"
#include "stage.h"
#include "user_function.h"
#include "vector.h"

#endif
