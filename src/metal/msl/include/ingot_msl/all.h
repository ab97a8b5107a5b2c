// The Metal standard library in one header: what <metal_stdlib> and its parts give a source. Included once,
// precompiled, before the rewritten source. Freestanding; built-in functions are calls of AIR's.
#pragma once

#include "array.h"
#include "atomic.h"
#include "geometric.h"
#include "integer.h"
#include "internals.h"
#include "limits.h"
#include "logging.h"
#include "math.h"
#include "matrix.h"
#include "pack.h"
#include "relational.h"
#include "simdgroup.h"
#include "simdgroup_matrix.h"
#include "synchronization.h"
#include "tensor.h"
#include "tensor_ops.h"
#include "type_traits.h"
#include "types.h"
#include "vec.h"
#include "visible_functions.h"

// Named by using directives, also of sources whose kernels need nothing of it.
namespace metal::raytracing {}
