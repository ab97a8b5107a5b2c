// File: opens, joins the parts of a split model, and looks things up.
#include <algorithm>
#include <functional>
#include <unordered_map>

#include "base/mapped_file.h"
#include "base/quoted.h"
#include "llm/gguf/split.h"

namespace ingot::gguf {
struct File::Impl {
    std::string path;
    uint32_t version = 0;
    uint64_t size_bytes = 0;
    std::vector<MappedFile> mappings;  // empty if the caller keeps the bytes
    std::vector<MetadataEntry> metadata;
    std::vector<TensorInfo> tensors;
    std::unordered_map<std::string_view, const Value*> value_of_key;
    std::unordered_map<std::string_view, const TensorInfo*> tensor_of_name;

    void adopt_first(Part&& part);
    void index();
};

namespace {

bool contains(std::span<const std::byte> whole, std::span<const std::byte> part) {
    const std::less_equal<const std::byte*> not_after;
    return not_after(whole.data(), part.data()) &&
           not_after(part.data() + part.size(), whole.data() + whole.size());
}

struct MappedPart {
    MappedFile mapping;
    Part part;
    SplitKeys split;
};

Result<MappedPart> open_part(const std::string& path) {
    INGOT_ASSIGN(MappedFile mapping, MappedFile::open(path));
    auto part = parse_part(mapping.bytes());
    if (!part) return Failure(with_context(std::move(part).error(), path));
    auto split = read_split_keys(*part);
    if (!split) return Failure(with_context(std::move(split).error(), path));
    return MappedPart{std::move(mapping), *std::move(part), *split};
}

// A model is opened by its first part, and each part is named as what it says it is.
Result<SplitName> name_of_first_part(const std::string& path, const SplitKeys& keys) {
    const std::optional<SplitName> name = parse_split_name(path);
    if (!name || name->count != keys.count || name->number != keys.index + 1) {
        return fail(ErrorKind::kCorrupt,
                    "{}: says that it is part {} of {}, so its name must end in -{:05}-of-{:05}.gguf", path,
                    keys.index + 1, keys.count, keys.index + 1, keys.count);
    }
    if (keys.index != 0) {
        return fail(ErrorKind::kInvalidArgument, "{}: is part {} of {}, open the first one, {}", path,
                    keys.index + 1, keys.count, name->path_of(1));
    }
    return *name;
}

Result<MappedPart> open_later_part(const SplitName& name, uint32_t number) {
    const std::string path = name.path_of(number);
    INGOT_ASSIGN(MappedPart part, open_part(path));
    if (part.split.index + 1 != number || part.split.count != name.count) {
        return fail(ErrorKind::kCorrupt, "{}: says that it is part {} of {}, part {} of {} is needed", path,
                    part.split.index + 1, part.split.count, number, name.count);
    }
    return part;
}

}  // namespace

void File::Impl::adopt_first(Part&& part) {
    version = part.version;
    metadata = std::move(part.metadata);
    tensors = std::move(part.tensors);
}

void File::Impl::index() {
    for (const MetadataEntry& entry : metadata) value_of_key.emplace(entry.key, &entry.value);
    for (const TensorInfo& tensor : tensors) tensor_of_name.emplace(tensor.name, &tensor);
}

Result<File> File::parse(std::span<const std::byte> bytes, std::string name) {
    auto part = parse_part(bytes);
    if (!part) return Failure(with_context(std::move(part).error(), name));
    const auto split = read_split_keys(*part);
    if (!split) return Failure(with_context(split.error(), name));
    if (split->count != 1) {
        return fail(ErrorKind::kUnsupported, "{}: is part {} of {}, which only opening by path joins", name,
                    split->index + 1, split->count);
    }
    auto impl = std::make_unique<Impl>();
    impl->path = std::move(name);
    impl->size_bytes = bytes.size();
    impl->adopt_first(*std::move(part));
    impl->index();
    return File(std::move(impl));
}

Result<File> File::open(const std::string& path) {
    INGOT_ASSIGN(MappedPart first, open_part(path));
    auto impl = std::make_unique<Impl>();
    impl->path = path;
    impl->size_bytes = first.mapping.bytes().size();
    impl->adopt_first(std::move(first.part));
    impl->mappings.push_back(std::move(first.mapping));
    if (first.split.count != 1) {
        INGOT_ASSIGN(const SplitName name, name_of_first_part(path, first.split));
        for (uint32_t number = 2; number <= name.count; ++number) {
            INGOT_ASSIGN(MappedPart next, open_later_part(name, number));
            impl->size_bytes += next.mapping.bytes().size();
            for (TensorInfo& tensor : next.part.tensors) impl->tensors.push_back(std::move(tensor));
            impl->mappings.push_back(std::move(next.mapping));
        }
        if (first.split.num_tensors && *first.split.num_tensors != impl->tensors.size()) {
            return fail(ErrorKind::kCorrupt,
                        "{}: key 'split.tensors.count' is {}, but the {} parts hold {} tensors", path,
                        *first.split.num_tensors, name.count, impl->tensors.size());
        }
    }
    impl->index();
    for (const TensorInfo& tensor : impl->tensors) {
        if (impl->tensor_of_name.at(tensor.name) != &tensor) {
            return fail(ErrorKind::kCorrupt, "{}: tensor {} is in more than one part", path,
                        quoted(tensor.name));
        }
    }
    return File(std::move(impl));
}

File::File(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
File::File(File&&) noexcept = default;
File& File::operator=(File&&) noexcept = default;
File::~File() = default;

const std::string& File::path() const {
    return impl_->path;
}
std::vector<std::string> File::part_paths() const {
    if (impl_->mappings.empty()) return {impl_->path};
    std::vector<std::string> paths;
    for (const MappedFile& mapping : impl_->mappings) paths.push_back(mapping.path());
    return paths;
}
uint32_t File::version() const {
    return impl_->version;
}
uint64_t File::size_bytes() const {
    return impl_->size_bytes;
}
std::vector<std::span<const std::byte>> File::mappings() const {
    std::vector<std::span<const std::byte>> parts;
    for (const MappedFile& mapping : impl_->mappings) parts.push_back(mapping.bytes());
    return parts;
}
std::span<const MetadataEntry> File::metadata() const {
    return impl_->metadata;
}
std::span<const TensorInfo> File::tensors() const {
    return impl_->tensors;
}

const Value* File::find(std::string_view key) const {
    const auto found = impl_->value_of_key.find(key);
    return found == impl_->value_of_key.end() ? nullptr : found->second;
}

const TensorInfo* File::find_tensor(std::string_view name) const {
    const auto found = impl_->tensor_of_name.find(name);
    return found == impl_->tensor_of_name.end() ? nullptr : found->second;
}

void File::release(std::span<const std::byte> bytes) const {
    for (const MappedFile& mapping : impl_->mappings) {
        if (contains(mapping.bytes(), bytes)) mapping.release(bytes);
    }
}

void File::release_metadata() const {
    for (const MappedFile& mapping : impl_->mappings) {
        const std::span<const std::byte> all = mapping.bytes();
        size_t end = all.size();
        for (const TensorInfo& tensor : impl_->tensors) {
            if (contains(all, tensor.data)) end = std::min(end, size_t(tensor.data.data() - all.data()));
        }
        mapping.release(all.first(end));
    }
}

}  // namespace ingot::gguf
