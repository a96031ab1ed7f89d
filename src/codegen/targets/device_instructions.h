#pragma once

namespace ingot::codegen {

class Instructions;

/// Those of NVIDIA's GPUs, of all generations alike.
const Instructions& device_instructions();

}  // namespace ingot::codegen
