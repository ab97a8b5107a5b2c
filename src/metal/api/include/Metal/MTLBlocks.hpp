// Blocks (clang's -fblocks): each call that takes a std::function takes a block too, as in metal-cpp.
// Programs that use them link a blocks runtime; the virtual device itself needs none.
#pragma once

#include <functional>
#include <memory>

#if defined(__BLOCKS__)

extern "C" {
void* _Block_copy(const void* block);
void _Block_release(const void* block);
}

namespace MTL::Blocks {

// A function that holds a copy of the block; none for a null block.
template <class Result, class... Arguments>
std::function<Result(Arguments...)> function_of(Result (^block)(Arguments...)) {
    if (block == nullptr) return {};
    using Block = Result (^)(Arguments...);
    const std::shared_ptr<void> copy(_Block_copy(reinterpret_cast<const void*>(block)),
                                     [](void* held) { _Block_release(held); });
    return [copy](Arguments... arguments) { return reinterpret_cast<Block>(copy.get())(arguments...); };
}

}  // namespace MTL::Blocks

#endif
