// What every rewritten source includes, as one file for the compiler to precompile.
#pragma once

#include <ingot_msl/all.h>
#include <ingot_msl/entry.h>
