// Foundation's part of the Metal API for C++: reference-counted objects, strings, arrays, errors, autorelease
// pools, under the names, signatures and ownership rules of Apple's metal-cpp. Functions whose name starts
// with new, alloc or copy give ownership; what others return belongs to the innermost NS::AutoreleasePool of
// the thread. The list of what exists, and every deviation: ../../README.md.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>

namespace NS {

using Integer = std::intptr_t;
using UInteger = std::uintptr_t;
using TimeInterval = double;

enum StringEncoding : UInteger { ASCIIStringEncoding = 1, UTF8StringEncoding = 4 };

struct Range {
    static Range Make(UInteger location, UInteger length) { return Range(location, length); }
    Range(UInteger location_, UInteger length_) : location(location_), length(length_) {}
    bool Equal(const Range& range) const { return location == range.location && length == range.length; }
    bool LocationInRange(UInteger at) const { return at >= location && at - location < length; }
    UInteger Max() const { return location + length; }

    UInteger location;
    UInteger length;
} __attribute__((packed));

class String;

class Object {
  public:
    Object* retain();
    void release();
    Object* autorelease();
    UInteger retainCount() const;
    UInteger hash() const;
    bool isEqual(const Object* object) const;
    String* description() const;

    Object(const Object&) = delete;
    Object& operator=(const Object&) = delete;

  protected:
    Object();
    virtual ~Object();

  private:
    struct Count;
    alignas(8) mutable unsigned char count_[8];
};

template <class Class, class Base = Object>
class Referencing : public Base {
  public:
    Class* retain() { return static_cast<Class*>(Object_()->retain()); }
    void release() { Object_()->release(); }
    Class* autorelease() { return static_cast<Class*>(Object_()->autorelease()); }

  private:
    Object* Object_() { return static_cast<Object*>(this); }
};

template <class Class, class Base = Object>
class Copying : public Referencing<Class, Base> {
  public:
    Class* copy() const { return static_cast<const Class*>(this)->copy_(); }
};

class String : public Copying<String> {
  public:
    static String* string();
    static String* string(const String* other);
    static String* string(const char* text, StringEncoding encoding);
    static String* alloc();
    String* init();
    String* init(const String* other);
    String* init(const char* text, StringEncoding encoding);
    UInteger length() const;
    const char* cString(StringEncoding encoding) const;
    const char* utf8String() const;
    UInteger lengthOfBytes(StringEncoding encoding) const;
    bool isEqualToString(const String* other) const;
    String* stringByAppendingString(const String* other) const;

  private:
    friend class Copying<String>;
    String* copy_() const;
};

class Array : public Copying<Array> {
  public:
    static Array* array();
    static Array* array(const Object* object);
    static Array* array(const Object* const* objects, UInteger count);
    static Array* alloc();
    Array* init();
    Array* init(const Object* const* objects, UInteger count);
    template <class Type = Object>
    Type* object(UInteger index) const {
        return static_cast<Type*>(objectAtIndex(index));
    }
    UInteger count() const;

  private:
    friend class Copying<Array>;
    Object* objectAtIndex(UInteger index) const;
    Array* copy_() const;
};

class Dictionary : public Copying<Dictionary> {
  public:
    static Dictionary* dictionary();
    static Dictionary* dictionary(const Object* object, const Object* key);
    static Dictionary* dictionary(const Object* const* objects, const Object* const* keys, UInteger count);
    static Dictionary* alloc();
    Dictionary* init();
    Dictionary* init(const Object* const* objects, const Object* const* keys, UInteger count);
    template <class Type = Object>
    Type* object(const Object* key) const {
        return static_cast<Type*>(objectForKey(key));
    }
    UInteger count() const;

  private:
    friend class Copying<Dictionary>;
    Object* objectForKey(const Object* key) const;
    Dictionary* copy_() const;
};

using ErrorDomain = String*;

class Error : public Copying<Error> {
  public:
    static Error* error(ErrorDomain domain, Integer code, Dictionary* userInfo);
    static Error* alloc();
    Error* init();
    Error* init(ErrorDomain domain, Integer code, Dictionary* userInfo);
    Integer code() const;
    ErrorDomain domain() const;
    Dictionary* userInfo() const;
    String* localizedDescription() const;

  private:
    friend class Copying<Error>;
    Error* copy_() const;
};

extern const ErrorDomain CocoaErrorDomain;
extern String* const LocalizedDescriptionKey;

class URL : public Copying<URL> {
  public:
    static URL* fileURLWithPath(const String* path);
    static URL* alloc();
    URL* init();
    URL* initFileURLWithPath(const String* path);
    const char* fileSystemRepresentation() const;

  private:
    friend class Copying<URL>;
    URL* copy_() const;
};

class AutoreleasePool : public Referencing<AutoreleasePool> {
  public:
    static AutoreleasePool* alloc();
    AutoreleasePool* init();
    void drain();
    void addObject(Object* object);
};

// Owns one reference.
template <class Class>
class SharedPtr {
  public:
    SharedPtr() = default;
    SharedPtr(std::nullptr_t) noexcept {}
    ~SharedPtr() { reset(); }
    SharedPtr(const SharedPtr& other) noexcept : object_(other.object_) { retain(); }
    SharedPtr(SharedPtr&& other) noexcept : object_(std::exchange(other.object_, nullptr)) {}
    template <class Other, class = std::enable_if_t<std::is_convertible_v<Other*, Class*>>>
    SharedPtr(const SharedPtr<Other>& other) noexcept : object_(other.get()) {
        retain();
    }
    template <class Other, class = std::enable_if_t<std::is_convertible_v<Other*, Class*>>>
    SharedPtr(SharedPtr<Other>&& other) noexcept : object_(other.get()) {
        other.detach();
    }
    SharedPtr& operator=(SharedPtr other) noexcept {
        std::swap(object_, other.object_);
        return *this;
    }

    Class* get() const { return object_; }
    Class* operator->() const { return object_; }
    explicit operator bool() const { return object_ != nullptr; }
    void reset() {
        if (Class* object = std::exchange(object_, nullptr)) object->release();
    }
    void detach() { object_ = nullptr; }

    template <class Other>
    friend SharedPtr<Other> RetainPtr(Other* object);
    template <class Other>
    friend SharedPtr<Other> TransferPtr(Other* object);

  private:
    void retain() {
        if (object_ != nullptr) object_->retain();
    }

    Class* object_ = nullptr;
};

template <class Class>
SharedPtr<Class> RetainPtr(Class* object) {
    SharedPtr<Class> result;
    result.object_ = object;
    result.retain();
    return result;
}

// Takes over a reference that the caller owns.
template <class Class>
SharedPtr<Class> TransferPtr(Class* object) {
    SharedPtr<Class> result;
    result.object_ = object;
    return result;
}

template <class A, class B>
bool operator==(const SharedPtr<A>& a, const SharedPtr<B>& b) {
    return a.get() == b.get();
}
template <class A, class B>
bool operator!=(const SharedPtr<A>& a, const SharedPtr<B>& b) {
    return a.get() != b.get();
}

}  // namespace NS

// A string literal as a string that lives as long as the program.
#define MTLSTR(literal) NS::MakeConstantString("" literal "")

namespace NS {
String* MakeConstantString(const char* text);
}
