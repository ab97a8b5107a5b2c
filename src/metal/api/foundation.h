// The implementations behind Foundation.hpp that other parts of the API build on.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "Foundation/Foundation.hpp"
#include "base/result.h"

namespace ingot::metal::api {

// An autoreleased string.
NS::String* make_string(std::string_view text);
std::string to_std_string(const NS::String* string);
// Keys and values of a dictionary of strings; other objects are left out. Null: none.
std::vector<std::pair<std::string, std::string>> string_pairs(const NS::Dictionary* dictionary);

// An autoreleased array that retains its objects.
NS::Array* make_array(const std::vector<NS::Object*>& objects);

// Sets *error (if asked for) to an autoreleased error with this description.
void set_error(NS::Error** error, NS::ErrorDomain domain, NS::Integer code, std::string_view description);
NS::Error* make_error(NS::ErrorDomain domain, NS::Integer code, std::string_view description);  // owned

// Retains `next`, releases what *slot held.
template <class T>
void assign(T*& slot, const T* next) {
    T* value = const_cast<T*>(next);
    if (value != nullptr) value->retain();
    if (slot != nullptr) slot->release();
    slot = value;
}

}  // namespace ingot::metal::api
