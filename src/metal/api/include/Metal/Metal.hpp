// The compute part of the Metal API for C++, served by the virtual device. On macOS the same calling code
// builds against Apple's metal-cpp instead. What exists, and every deviation: ../../README.md.
#pragma once

#include "MTLCapture.hpp"
#include "MTLCommandBuffer.hpp"
#include "MTLDevice.hpp"
#include "MTLLibrary.hpp"
#include "MTLResource.hpp"
#include "MTLTypes.hpp"
