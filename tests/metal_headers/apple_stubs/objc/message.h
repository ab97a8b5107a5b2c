#pragma once
#include <objc/runtime.h>
extern "C" {
void objc_msgSend();
void objc_msgSend_fpret();
void objc_msgSend_stret();
}
