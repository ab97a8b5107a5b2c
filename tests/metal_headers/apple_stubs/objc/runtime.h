// The declarations of Apple's system headers that metal-cpp needs to be parsed (never run) elsewhere.
#pragma once
#include <cstddef>
#include <cstdint>
struct objc_object {};
typedef struct objc_object* id;
typedef struct objc_class* Class;
typedef struct objc_selector* SEL;
typedef struct objc_protocol Protocol;
extern "C" {
SEL sel_registerName(const char*);
void* objc_lookUpClass(const char*);
void* objc_getProtocol(const char*);
const char* sel_getName(SEL);
Class object_getClass(id);
bool class_respondsToSelector(Class, SEL);
}
#define OBJC_ASSOCIATION_RETAIN 01401
