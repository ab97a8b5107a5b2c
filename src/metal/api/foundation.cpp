#include "metal/api/foundation.h"

#include <atomic>
#include <functional>
#include <map>
#include <mutex>
#include <new>

#include "base/check.h"

namespace NS {

struct Object::Count {
    static std::atomic<uint64_t>& of(const Object* object) {
        return *reinterpret_cast<std::atomic<uint64_t>*>(object->count_);
    }
};

Object::Object() {
    new (count_) std::atomic<uint64_t>(1);
}
Object::~Object() = default;

Object* Object::retain() {
    Count::of(this).fetch_add(1, std::memory_order_relaxed);
    return this;
}

void Object::release() {
    const uint64_t before = Count::of(this).fetch_sub(1, std::memory_order_acq_rel);
    INGOT_CHECK(before != 0, "an object of the Metal API was released more often than retained");
    if (before == 1) delete this;
}

UInteger Object::retainCount() const {
    return Count::of(this).load();
}
UInteger Object::hash() const {
    return reinterpret_cast<UInteger>(this);
}
String* Object::description() const {
    return String::string("an object of the virtual Metal device", UTF8StringEncoding);
}

namespace {

class StringImpl final : public String {
  public:
    explicit StringImpl(std::string value) : text(std::move(value)) {}
    std::string text;
};

class ArrayImpl final : public Array {
  public:
    explicit ArrayImpl(std::vector<Object*> list) : objects(std::move(list)) {
        for (Object* object : objects) object->retain();
    }
    ~ArrayImpl() override {
        for (Object* object : objects) object->release();
    }
    std::vector<Object*> objects;
};

class DictionaryImpl final : public Dictionary {
  public:
    DictionaryImpl(std::vector<Object*> keys_, std::vector<Object*> values_)
        : keys(std::move(keys_)), values(std::move(values_)) {
        for (Object* object : keys) object->retain();
        for (Object* object : values) object->retain();
    }
    ~DictionaryImpl() override {
        for (Object* object : keys) object->release();
        for (Object* object : values) object->release();
    }
    std::vector<Object*> keys, values;
};

class ErrorImpl final : public Error {
  public:
    ~ErrorImpl() override {
        for (Object* object : {static_cast<Object*>(domain), static_cast<Object*>(info)}) {
            if (object != nullptr) object->release();
        }
    }
    ErrorDomain domain = nullptr;
    Integer code = 0;
    Dictionary* info = nullptr;
};

class UrlImpl final : public URL {
  public:
    std::string path;
};

// The pools of a thread, innermost last.
struct Pools {
    std::vector<class PoolImpl*> stack;
};
thread_local Pools pools;

class PoolImpl final : public AutoreleasePool {
  public:
    ~PoolImpl() override {
        drain_all();
        std::erase(pools.stack, this);
    }
    void drain_all() {
        // Releasing may autorelease again.
        while (!objects.empty()) {
            std::vector<Object*> taken;
            taken.swap(objects);
            for (Object* object : taken) object->release();
        }
    }
    std::vector<Object*> objects;
};

const StringImpl& impl(const String* string) {
    return *static_cast<const StringImpl*>(string);
}
const ArrayImpl& impl(const Array* array) {
    return *static_cast<const ArrayImpl*>(array);
}
const DictionaryImpl& impl(const Dictionary* dictionary) {
    return *static_cast<const DictionaryImpl*>(dictionary);
}
ErrorImpl& impl(const Error* error) {
    return *static_cast<ErrorImpl*>(const_cast<Error*>(error));
}

std::vector<Object*> to_vector(const Object* const* objects, UInteger count) {
    std::vector<Object*> result;
    for (UInteger i = 0; i < count; ++i) result.push_back(const_cast<Object*>(objects[i]));
    return result;
}

template <class T>
T* autoreleased(T* object) {
    object->autorelease();
    return object;
}

}  // namespace

// Without a pool, Apple's runtime leaks the object and says so on stderr; here it is silent.
Object* Object::autorelease() {
    if (!pools.stack.empty()) pools.stack.back()->objects.push_back(this);
    return this;
}

bool Object::isEqual(const Object* object) const {
    const auto* a = dynamic_cast<const StringImpl*>(this);
    const auto* b = dynamic_cast<const StringImpl*>(object);
    return this == object || (a != nullptr && b != nullptr && a->text == b->text);
}

String* String::string() {
    return autoreleased(alloc());
}
String* String::string(const String* other) {
    return autoreleased<String>(new StringImpl(impl(other).text));
}
String* String::string(const char* text, StringEncoding) {
    return autoreleased<String>(new StringImpl(text));
}
String* String::alloc() {
    return new StringImpl("");
}
String* String::init() {
    return this;
}
String* String::init(const String* other) {
    static_cast<StringImpl*>(this)->text = impl(other).text;
    return this;
}
String* String::init(const char* text, StringEncoding) {
    static_cast<StringImpl*>(this)->text = text;
    return this;
}
UInteger String::length() const {
    // In UTF-16 units, as Foundation counts.
    UInteger units = 0;
    for (const char c : impl(this).text) {
        const auto byte = static_cast<unsigned char>(c);
        if ((byte & 0xC0) != 0x80) units += byte >= 0xF0 ? 2 : 1;
    }
    return units;
}
const char* String::cString(StringEncoding) const {
    return impl(this).text.c_str();
}
const char* String::utf8String() const {
    return impl(this).text.c_str();
}
UInteger String::lengthOfBytes(StringEncoding) const {
    return impl(this).text.size();
}
bool String::isEqualToString(const String* other) const {
    return impl(this).text == impl(other).text;
}
String* String::stringByAppendingString(const String* other) const {
    return autoreleased<String>(new StringImpl(impl(this).text + impl(other).text));
}
String* String::copy_() const {
    return new StringImpl(impl(this).text);
}

String* MakeConstantString(const char* text) {
    static std::mutex mutex;
    static std::map<std::string, String*, std::less<>> strings;
    const std::scoped_lock lock(mutex);
    auto found = strings.find(std::string_view(text));
    if (found == strings.end()) found = strings.emplace(text, new StringImpl(text)).first;
    return found->second;
}

Array* Array::array() {
    return autoreleased(alloc());
}
Array* Array::array(const Object* object) {
    return array(&object, 1);
}
Array* Array::array(const Object* const* objects, UInteger count) {
    return autoreleased<Array>(new ArrayImpl(to_vector(objects, count)));
}
Array* Array::alloc() {
    return new ArrayImpl({});
}
Array* Array::init() {
    return this;
}
Array* Array::init(const Object* const* objects, UInteger count) {
    auto& array = *static_cast<ArrayImpl*>(this);
    array.objects = to_vector(objects, count);
    for (Object* object : array.objects) object->retain();
    return this;
}
UInteger Array::count() const {
    return impl(this).objects.size();
}
Object* Array::objectAtIndex(UInteger index) const {
    INGOT_CHECK(index < count(), "index {} of an array of {}", index, count());
    return impl(this).objects[index];
}
Array* Array::copy_() const {
    return new ArrayImpl(impl(this).objects);
}

Dictionary* Dictionary::dictionary() {
    return autoreleased(alloc());
}
Dictionary* Dictionary::dictionary(const Object* object, const Object* key) {
    return dictionary(&object, &key, 1);
}
Dictionary* Dictionary::dictionary(const Object* const* objects, const Object* const* keys, UInteger count) {
    return autoreleased<Dictionary>(new DictionaryImpl(to_vector(keys, count), to_vector(objects, count)));
}
Dictionary* Dictionary::alloc() {
    return new DictionaryImpl({}, {});
}
Dictionary* Dictionary::init() {
    return this;
}
Dictionary* Dictionary::init(const Object* const* objects, const Object* const* keys, UInteger count) {
    release();
    return new DictionaryImpl(to_vector(keys, count), to_vector(objects, count));
}
UInteger Dictionary::count() const {
    return impl(this).keys.size();
}
Object* Dictionary::objectForKey(const Object* key) const {
    const DictionaryImpl& dictionary = impl(this);
    for (size_t i = 0; i < dictionary.keys.size(); ++i) {
        if (dictionary.keys[i]->isEqual(key)) return dictionary.values[i];
    }
    return nullptr;
}
Dictionary* Dictionary::copy_() const {
    return new DictionaryImpl(impl(this).keys, impl(this).values);
}

const ErrorDomain CocoaErrorDomain = MakeConstantString("NSCocoaErrorDomain");
String* const LocalizedDescriptionKey = MakeConstantString("NSLocalizedDescription");

Error* Error::error(ErrorDomain domain, Integer code, Dictionary* info) {
    return autoreleased(alloc()->init(domain, code, info));
}
Error* Error::alloc() {
    return new ErrorImpl;
}
Error* Error::init() {
    return this;
}
Error* Error::init(ErrorDomain domain, Integer code, Dictionary* info) {
    ErrorImpl& error = impl(this);
    ingot::metal::api::assign(error.domain, static_cast<const String*>(domain));
    ingot::metal::api::assign(error.info, static_cast<const Dictionary*>(info));
    error.code = code;
    return this;
}
Integer Error::code() const {
    return impl(this).code;
}
ErrorDomain Error::domain() const {
    return impl(this).domain;
}
Dictionary* Error::userInfo() const {
    return impl(this).info;
}
String* Error::localizedDescription() const {
    const Dictionary* info = impl(this).info;
    auto* text = info != nullptr ? info->object<String>(LocalizedDescriptionKey) : nullptr;
    return text != nullptr ? text : String::string();
}
Error* Error::copy_() const {
    return Error::alloc()->init(domain(), code(), userInfo());
}

URL* URL::fileURLWithPath(const String* path) {
    return autoreleased(alloc()->initFileURLWithPath(path));
}
URL* URL::alloc() {
    return new UrlImpl;
}
URL* URL::init() {
    return this;
}
URL* URL::initFileURLWithPath(const String* path) {
    static_cast<UrlImpl*>(this)->path = impl(path).text;
    return this;
}
const char* URL::fileSystemRepresentation() const {
    return static_cast<const UrlImpl*>(this)->path.c_str();
}
URL* URL::copy_() const {
    auto* url = new UrlImpl;
    url->path = static_cast<const UrlImpl*>(this)->path;
    return url;
}

AutoreleasePool* AutoreleasePool::alloc() {
    return new PoolImpl;
}
AutoreleasePool* AutoreleasePool::init() {
    pools.stack.push_back(static_cast<PoolImpl*>(this));
    return this;
}
// As on Apple's systems, draining ends the pool.
void AutoreleasePool::drain() {
    release();
}
void AutoreleasePool::addObject(Object* object) {
    static_cast<PoolImpl*>(this)->objects.push_back(object);
}

}  // namespace NS

namespace ingot::metal::api {

NS::String* make_string(std::string_view text) {
    return NS::String::string(std::string(text).c_str(), NS::UTF8StringEncoding);
}

std::string to_std_string(const NS::String* string) {
    return string != nullptr ? string->utf8String() : "";
}

std::vector<std::pair<std::string, std::string>> string_pairs(const NS::Dictionary* dictionary) {
    std::vector<std::pair<std::string, std::string>> pairs;
    if (dictionary == nullptr) return pairs;
    const auto& entries = static_cast<const NS::DictionaryImpl&>(*dictionary);
    for (size_t i = 0; i < entries.keys.size(); ++i) {
        const auto* key = dynamic_cast<const NS::String*>(entries.keys[i]);
        const auto* value = dynamic_cast<const NS::String*>(entries.values[i]);
        if (key != nullptr && value != nullptr) pairs.emplace_back(to_std_string(key), to_std_string(value));
    }
    return pairs;
}

NS::Array* make_array(const std::vector<NS::Object*>& objects) {
    return NS::Array::array(objects.data(), objects.size());
}

NS::Error* make_error(NS::ErrorDomain domain, NS::Integer code, std::string_view description) {
    const auto pool = NS::TransferPtr(NS::AutoreleasePool::alloc()->init());
    NS::Dictionary* info = NS::Dictionary::dictionary(make_string(description), NS::LocalizedDescriptionKey);
    return NS::Error::alloc()->init(domain, code, info);
}

void set_error(NS::Error** error, NS::ErrorDomain domain, NS::Integer code, std::string_view description) {
    if (error == nullptr) return;
    *error = make_error(domain, code, description);
    (*error)->autorelease();
}

}  // namespace ingot::metal::api
