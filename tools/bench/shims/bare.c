/* The loops of loops_body.h with no library in them: what has to be subtracted. */
#include "loops.h"

static struct qb_value the_value = { 42 };
static struct qb_value *the_pointer = &the_value;

#define QB_COPY 0
#include "bare_body.h"
#define QB_COPY 1
#include "bare_body.h"
#define QB_COPY 2
#include "bare_body.h"
#define QB_COPY 3
#include "bare_body.h"

QB_SHARE_OUT(qb_bare_empty, empty)
QB_SHARE_OUT(qb_bare_repin, repin)
