#pragma once
#include <ingot_macros.h>
