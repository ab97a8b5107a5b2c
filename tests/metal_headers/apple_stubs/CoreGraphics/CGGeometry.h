#pragma once
struct CGSize {};
