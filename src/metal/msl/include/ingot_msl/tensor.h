// <metal_tensor>: extents, and tensors as views of memory with extents and strides, innermost dimension
// first. Address spaces are gone here, so a tensor of device and one of threadgroup memory have one type.
// tensor_handle is the form that the host binds as a kernel's argument, tensor_inline the one that kernels
// make; both hold the same. Products of tensors are in tensor_ops.h.
#pragma once

#include "array.h"
#include "vec.h"

namespace metal {

constexpr size_t dynamic_extent = size_t(-1);
template <typename T>
inline constexpr T dynamic_length_v = T(-1);

template <typename IndexType, size_t... Extents>
class extents {
  public:
    using index_type = IndexType;
    using size_type = make_unsigned_t<IndexType>;
    using rank_type = size_t;

    static constexpr size_t rank() { return sizeof...(Extents); }
    static constexpr size_t rank_dynamic() { return ((Extents == dynamic_extent ? 1 : 0) + ... + 0); }
    static constexpr size_t static_extent(size_t dimension) {
        constexpr size_t kExtents[] = {Extents...};
        return kExtents[dimension];
    }

    constexpr extents() : values_{IndexType(Extents == dynamic_extent ? 0 : Extents)...} {}
    // All extents, or the dynamic ones.
    template <typename... E>
        requires((sizeof...(E) == rank() || sizeof...(E) == rank_dynamic()) && sizeof...(E) > 0 &&
                 (is_convertible_v<E, IndexType> && ...))
    constexpr extents(E... values) : extents() {
        const IndexType given[] = {IndexType(values)...};
        for (size_t d = 0, next = 0; d < rank(); ++d) {
            if (sizeof...(E) == rank()) {
                values_[d] = given[d];
            } else if (static_extent(d) == dynamic_extent) {
                values_[d] = given[next++];
            }
        }
    }
    template <typename Other, size_t... OtherExtents>
        requires(sizeof...(OtherExtents) == rank())
    constexpr extents(const extents<Other, OtherExtents...>& other) : extents() {
        for (size_t d = 0; d < rank(); ++d) values_[d] = IndexType(other.extent(d));
    }

    constexpr IndexType extent(size_t dimension) const { return values_[dimension]; }

    friend constexpr bool operator==(const extents& a, const extents& b) {
        for (size_t d = 0; d < rank(); ++d) {
            if (a.extent(d) != b.extent(d)) return false;
        }
        return true;
    }

  private:
    IndexType values_[rank()];
};

namespace ingot {

template <typename IndexType, size_t Rank, size_t... Extents>
struct all_dynamic : all_dynamic<IndexType, Rank - 1, dynamic_extent, Extents...> {};
template <typename IndexType, size_t... Extents>
struct all_dynamic<IndexType, 0, Extents...> {
    using type = extents<IndexType, Extents...>;
};

}  // namespace ingot

template <typename IndexType, size_t Rank>
using dextents = typename ingot::all_dynamic<IndexType, Rank>::type;

struct tensor_handle {};
struct tensor_inline {};
struct tensor_offset {};

namespace ingot {

// What a buffer holds that is bound as a tensor (exec/tensor_argument.h): 16 bytes, extents, strides.
struct bound_tensor {
    void* data;
    int type;
    int rank;
    int sizes[];
};

}  // namespace ingot

template <typename ElementType, typename Extents, typename DescriptorType = tensor_handle, typename... Tags>
class tensor {
  public:
    using element_type = ElementType;
    using value_type = remove_cv_t<ElementType>;
    using extents_type = Extents;
    using index_type = typename Extents::index_type;
    using size_type = typename Extents::size_type;
    using rank_type = typename Extents::rank_type;
    using descriptor_type = DescriptorType;
    using data_handle_type = ElementType*;
    using pointer = ElementType*;
    using reference = ElementType&;
    using strides_type = array<index_type, Extents::rank()>;

    static constexpr size_t rank() { return Extents::rank(); }
    static constexpr size_t get_rank() { return Extents::rank(); }
    static constexpr size_t rank_dynamic() { return Extents::rank_dynamic(); }
    static constexpr size_t static_extent(size_t dimension) { return Extents::static_extent(dimension); }
    static constexpr size_t get_static_extent(size_t dimension) { return static_extent(dimension); }

    constexpr tensor() = default;
    // Dense: each dimension strides over the ones inside it.
    constexpr tensor(ElementType* data, const Extents& sizes) : data_(data), extents_(sizes) {
        index_type stride = 1;
        for (size_t d = 0; d < rank(); ++d) {
            strides_[d] = stride;
            stride *= sizes.extent(d);
        }
    }
    template <typename I>
    constexpr tensor(ElementType* data, const Extents& sizes, const array<I, Extents::rank()>& strides)
        : data_(data), extents_(sizes) {
        for (size_t d = 0; d < rank(); ++d) strides_[d] = index_type(strides[d]);
    }
    template <typename E, typename X, typename D, typename... T>
        requires(X::rank() == Extents::rank() && is_convertible_v<E*, ElementType*>)
    constexpr tensor(const tensor<E, X, D, T...>& other)
        : data_(other.data_handle()), extents_(other.get_extents()) {
        for (size_t d = 0; d < rank(); ++d) strides_[d] = other.get_stride(d);
    }
    // The tensor that a kernel's argument refers to.
    static tensor from_argument(const void* argument) {
        const auto* bound = static_cast<const ingot::bound_tensor*>(argument);
        tensor result;
        result.data_ = static_cast<ElementType*>(bound->data);
        index_type values[rank()];
        for (size_t d = 0; d < rank(); ++d) {
            values[d] = index_type(bound->sizes[d]);
            result.strides_[d] = index_type(bound->sizes[rank() + d]);
        }
        result.extents_ = from_values(values, make_indices{});
        return result;
    }

    constexpr index_type get_extent(size_t dimension) const { return extents_.extent(dimension); }
    constexpr index_type extent(size_t dimension) const { return extents_.extent(dimension); }
    constexpr const Extents& get_extents() const { return extents_; }
    constexpr index_type get_stride(size_t dimension) const { return strides_[dimension]; }
    constexpr index_type stride(size_t dimension) const { return strides_[dimension]; }
    constexpr const strides_type& get_strides() const { return strides_; }
    constexpr ElementType* data_handle() const { return data_; }
    constexpr ElementType* get_data() const { return data_; }

    template <typename... I>
        requires(sizeof...(I) == Extents::rank())
    constexpr ElementType& operator[](I... indices) const {
        return data_[offset_of({index_type(indices)...})];
    }
    template <typename I>
    constexpr ElementType& operator[](const array<I, Extents::rank()>& indices) const {
        strides_type at;
        for (size_t d = 0; d < rank(); ++d) at[d] = index_type(indices[d]);
        return data_[offset_of(at)];
    }

    // The part from `origin` to the end.
    template <typename... I>
        requires(sizeof...(I) == Extents::rank())
    constexpr auto slice(I... origin) const {
        using Part = dextents<index_type, Extents::rank()>;
        constexpr size_t kUnbounded[] = {(void(sizeof(I)), dynamic_extent)...};
        return part<Part>({index_type(origin)...}, kUnbounded);
    }
    // The part from `origin` on of the extents given (dynamic_extent: to the end), or as much as there is.
    template <size_t... SliceExtents, typename... I>
        requires(sizeof...(SliceExtents) == Extents::rank() && sizeof...(I) == Extents::rank())
    constexpr auto slice(I... origin) const {
        using Part = extents<index_type, SliceExtents...>;
        constexpr size_t kBounds[] = {SliceExtents...};
        return part<Part>({index_type(origin)...}, kBounds);
    }

  private:
    using make_indices = ingot::indices<int(Extents::rank())>;
    template <int... D>
    static constexpr Extents from_values(const index_type* values, ingot::sequence<int, D...>) {
        return Extents(values[D]...);
    }

    constexpr ptrdiff_t offset_of(const strides_type& at) const {
        ptrdiff_t offset = 0;
        for (size_t d = 0; d < rank(); ++d) offset += ptrdiff_t(at[d]) * strides_[d];
        return offset;
    }
    template <typename Part>
    constexpr tensor<ElementType, Part, tensor_inline> part(const strides_type& origin,
                                                            const size_t* bounds) const {
        index_type sizes[rank()];
        for (size_t d = 0; d < rank(); ++d) {
            const index_type left = extents_.extent(d) > origin[d] ? extents_.extent(d) - origin[d] : 0;
            sizes[d] =
                bounds[d] == dynamic_extent || index_type(bounds[d]) > left ? left : index_type(bounds[d]);
        }
        return {data_ + offset_of(origin), from_sizes<Part>(sizes, make_indices{}), strides_};
    }
    template <typename Part, int... D>
    static constexpr Part from_sizes(const index_type* sizes, ingot::sequence<int, D...>) {
        return Part(sizes[D]...);
    }

    ElementType* data_ = nullptr;
    Extents extents_;
    strides_type strides_{};
};

template <typename T, typename Extents>
tensor(T*, Extents) -> tensor<T, Extents, tensor_inline>;
template <typename T, typename Extents, typename I, size_t Rank>
tensor(T*, Extents, array<I, Rank>) -> tensor<T, Extents, tensor_inline>;

namespace ingot {

template <typename T>
inline constexpr bool is_tensor = false;
template <typename T, typename Extents, typename Descriptor, typename... Tags>
inline constexpr bool is_tensor<tensor<T, Extents, Descriptor, Tags...>> = true;

// Element types of tensors as the device numbers them, and as `__tensorops` functions do.
template <typename T>
inline constexpr int tensor_type = -1;
template <>
inline constexpr int tensor_type<float> = 0;
template <>
inline constexpr int tensor_type<half> = 1;
template <>
inline constexpr int tensor_type<bfloat> = 2;
template <>
inline constexpr int tensor_type<int> = 3;
template <>
inline constexpr int tensor_type<signed char> = 4;
template <>
inline constexpr int tensor_type<char> = 4;
template <>
inline constexpr int tensor_type<uchar> = 5;
template <typename T>
inline constexpr uint operand_type = tensor_type<T> == 0   ? 0x10000020u
                                     : tensor_type<T> == 1 ? 0x10000010u
                                     : tensor_type<T> == 2 ? 0x90000010u
                                     : tensor_type<T> == 3 ? 0x20000020u
                                     : tensor_type<T> == 4 ? 0x20000008u
                                                           : 0x00000008u;

namespace air {

void init_strided_private_tensor(void*, short, void*, const int*, const int*,
                                 char) __asm__("air.init_strided_private_tensor.i32.global");

}  // namespace air

// A tensor as AIR's functions take it.
template <size_t Rank>
class private_tensor {
  public:
    template <typename T>
    explicit private_tensor(const T& view) {
        static_assert(tensor_type<typename T::value_type> >= 0,
                      "the elements of a tensor operand are float, half, bfloat, int, int8_t or uint8_t");
        int sizes[Rank], strides[Rank];
        for (size_t d = 0; d < Rank; ++d) {
            sizes[d] = int(view.get_extent(d));
            strides[d] = int(view.get_stride(d));
        }
        air::init_strided_private_tensor(bytes_, short(Rank),
                                         const_cast<typename T::value_type*>(view.data_handle()), sizes,
                                         strides, char(tensor_type<typename T::value_type>));
    }
    void* get() { return bytes_; }

  private:
    alignas(8) char bytes_[16 + 8 * Rank];
};

}  // namespace ingot

}  // namespace metal
