// SPDX-License-Identifier: Apache-2.0
// The objects of a program that end with the last graph that has them.
#include "graph.h"

void cj__user_release(cj_user *user, unsigned count) {
    const bool was_alive = user->references != 0;
    user->references -= count < user->references ? count : user->references;
    if (user->references || !was_alive) return;
    cj__keep(user);
    cj__object_destroy(user);
    const cj_pause pause = cj__pause();
    user->destroy(user->pointer);
    cj__resume(pause);
    cj__let(user);
}
