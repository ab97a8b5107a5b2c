// The Metal standard library in one header: what <metal_stdlib> and its parts give a source. Included once,
// precompiled, before the rewritten source. Freestanding; built-in functions are calls of AIR's.
#pragma once

#include "limits.h"
#include "type_traits.h"
#include "types.h"
#include "vec.h"
