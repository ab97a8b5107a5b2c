#pragma once
#include <cmath>
#include <cstdint>
typedef double CFTimeInterval;
typedef const struct __CFString* CFStringRef;
typedef double CGFloat;
#define CF_OPEN_SOURCE 1
extern "C" CFStringRef __CFStringMakeConstantString(const char*);
