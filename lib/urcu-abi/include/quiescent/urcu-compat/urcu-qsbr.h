/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifdef QUIESCENT_URCU_COMPAT_H
#ifndef QSC_URCU_QSBR
#error "include <urcu-qsbr.h> before <urcu-call-rcu.h> and <urcu-defer.h>, and no other flavour beside it"
#endif
#endif
#ifndef QSC_URCU_QSBR
#define QSC_URCU_QSBR
#endif
#include "../urcu-compat.h"
