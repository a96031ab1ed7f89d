#include "codegen/targets/opencl_text.h"

#include <llvm/ADT/SmallPtrSet.h>
#include <llvm/IR/CFG.h>
#include <llvm/IR/InstIterator.h>

#include <algorithm>

#include "base/error.h"
#include "codegen/targets/opencl_helpers.h"
#include "codegen/targets/opencl_writer.h"

namespace ingot::codegen {

namespace {

bool is_kernel(const llvm::Function& function) {
  return function.getCallingConv() == llvm::CallingConv::SPIR_KERNEL;
}

bool is_dynamic(const llvm::GlobalVariable& variable) { return variable.isDeclaration(); }

bool is_shared(const llvm::GlobalVariable& variable) { return variable.getAddressSpace() != 0; }

/// Whether an operand is this, or made of it.
bool mentions(const llvm::Value* value, const llvm::GlobalVariable& variable) {
  if (value == &variable) return true;
  const auto* const made = llvm::dyn_cast<llvm::ConstantExpr>(value);
  return made != nullptr &&
         llvm::any_of(made->operands(), [&](const llvm::Use& part) { return mentions(part, variable); });
}

bool mentions(const llvm::Function& function, const llvm::GlobalVariable& variable) {
  return llvm::any_of(llvm::instructions(function), [&](const llvm::Instruction& instruction) {
    return llvm::any_of(instruction.operands(),
                        [&](const llvm::Use& operand) { return mentions(operand, variable); });
  });
}

void put_bytes(std::vector<uint8_t>& bytes, uint64_t at, const llvm::APInt& bits) {
  for (unsigned k = 0; 8 * k < bits.getBitWidth(); ++k) {
    bytes[at + k] =
        static_cast<uint8_t>(bits.extractBitsAsZExtValue(std::min(8U, bits.getBitWidth() - 8 * k), 8 * k));
  }
}

void put_bytes(std::vector<uint8_t>& bytes, uint64_t at, const llvm::Constant& value,
               const llvm::DataLayout& layout) {
  if (value.isNullValue() || llvm::isa<llvm::UndefValue>(value)) return;
  if (const auto* const number = llvm::dyn_cast<llvm::ConstantInt>(&value))
    return put_bytes(bytes, at, number->getValue());
  if (const auto* const number = llvm::dyn_cast<llvm::ConstantFP>(&value))
    return put_bytes(bytes, at, number->getValueAPF().bitcastToAPInt());
  llvm::Type* const type = value.getType();
  if (!type->isArrayTy() && !type->isStructTy() && !type->isVectorTy())
    refuse_for_opencl("a table of addresses");
  for (unsigned i = 0; const llvm::Constant* const element = value.getAggregateElement(i); ++i) {
    const uint64_t size = layout.getTypeAllocSize(element->getType());
    const uint64_t offset =
        type->isStructTy()
            ? layout.getStructLayout(llvm::cast<llvm::StructType>(type))->getElementOffset(i).getFixedValue()
            : i * size;
    put_bytes(bytes, at + offset, *element, layout);
  }
}

/// Names like those of C's functions would be taken for these.
void rename(llvm::Module& module) {
  size_t count = 0;
  for (llvm::GlobalValue& value : module.global_values()) {
    const auto* const function = llvm::dyn_cast<llvm::Function>(&value);
    if (function == nullptr || !(function->isDeclaration() || is_kernel(*function)))
      value.setName("ingot_g" + std::to_string(count++));
  }
}

}  // namespace

std::string opencl_text(llvm::Module& module) {
  rename(module);
  return OpenClWriter(module).text();
}

OpenClWriter::OpenClWriter(const llvm::Module& module)
    : module_(module), layout_(module.getDataLayout()), spaces_(module) {}

std::string OpenClWriter::text() {
  std::string prototypes;
  std::string functions;
  for (const llvm::Function& function : module_) {
    if (function.isDeclaration()) continue;
    if (!is_kernel(function)) prototypes += prototype(function) + ";\n";
    functions += function_text(function);
  }
  return opencl_head() + opencl_helpers(helpers_) + structs_ + access_types_ + constants() + prototypes +
         functions;
}

/// Tables of words.
std::string OpenClWriter::constants() const {
  std::string text;
  for (const llvm::GlobalVariable& variable : module_.globals()) {
    if (is_shared(variable) || !variable.hasInitializer() || variable.use_empty()) continue;
    std::vector<uint8_t> bytes((layout_.getTypeAllocSize(variable.getValueType()) + 7) / 8 * 8);
    put_bytes(bytes, 0, *variable.getInitializer(), layout_);
    text += "__constant ulong " + variable.getName().str() + "[" + std::to_string(bytes.size() / 8) + "] = {";
    for (size_t i = 0; i < bytes.size(); i += 8) {
      uint64_t word = 0;
      for (size_t k = 8; k-- > 0;) word = word << 8 | bytes[i + k];
      text += (i == 0 ? "" : i % 64 == 0 ? ",\n" : ",") + std::to_string(word) + "UL";
    }
    text += "};\n";
  }
  return text;
}

std::string OpenClWriter::prototype(const llvm::Function& function) {
  numbers_.clear();
  std::string parameters;
  for (const llvm::Argument& argument : function.args())
    parameters += (parameters.empty() ? "" : ", ") + type_of(&argument) + " " + variable(&argument);
  for (const llvm::GlobalVariable& memory : module_.globals()) {
    if (is_kernel(function) && is_shared(memory) && is_dynamic(memory) && mentions(function, memory)) {
      parameters +=
          (parameters.empty() ? "" : ", ") + std::string("__local uchar* ") + memory.getName().str();
    }
  }
  return std::string(is_kernel(function) ? "__kernel " : "") +
         type_name(function.getReturnType(), spaces_.returned(&function)) + " " + function.getName().str() +
         "(" + (parameters.empty() ? "void" : parameters) + ")";
}

void OpenClWriter::declare_shared(const llvm::Function& function) {
  for (const llvm::GlobalVariable& memory : module_.globals()) {
    if (!is_shared(memory) || !mentions(function, memory)) continue;
    if (!is_kernel(function)) refuse_for_opencl("memory of a block in a function that is not inlined");
    if (is_dynamic(memory)) continue;
    declarations_ += "__local uchar " + memory.getName().str() + "[" +
                     std::to_string(layout_.getTypeAllocSize(memory.getValueType()).getFixedValue()) +
                     "] __attribute__((aligned(16)));\n";
  }
}

std::string OpenClWriter::function_text(const llvm::Function& function) {
  const std::string head = prototype(function);
  declarations_.clear();
  body_.clear();
  declare_shared(function);
  for (const llvm::BasicBlock& block : function) {
    for (const llvm::PHINode& phi : block.phis()) {
      declarations_ += type_of(&phi) + " " + variable(&phi) + ", " +
                       (phi.getType()->isPointerTy() ? "*" : "") + variable(&phi) + "n;\n";
    }
    write_block(block);
  }
  return head + " {\n" + declarations_ + body_ + "}\n";
}

std::string OpenClWriter::label(const llvm::BasicBlock& block) { return "L" + variable(&block); }

void OpenClWriter::write_block(const llvm::BasicBlock& block) {
  if (!block.isEntryBlock()) body_ += label(block) + ":;\n";
  for (const llvm::Instruction& instruction : block) {
    if (llvm::isa<llvm::PHINode>(instruction)) continue;
    if (instruction.isTerminator()) write_end(instruction);
    else write(instruction);
  }
}

/// All of a block's values from before the jump are read first.
std::string OpenClWriter::jump(const llvm::BasicBlock& from, const llvm::BasicBlock& to) {
  std::string reads;
  std::string writes;
  const bool is_one = std::ranges::distance(to.phis()) == 1;
  for (const llvm::PHINode& phi : to.phis()) {
    const llvm::Value* const value = phi.getIncomingValueForBlock(&from);
    if (llvm::isa<llvm::UndefValue>(value) || value == &phi) continue;
    const std::string name = variable(&phi);
    reads.append(name).append(is_one ? " = " : "n = ").append(operand(value, spaces_.of(&phi))).append("; ");
    if (!is_one) writes.append(name).append(" = ").append(name).append("n; ");
  }
  return "{ " + reads + writes + "goto " + label(to) + "; }";
}

void OpenClWriter::write_end(const llvm::Instruction& end) {
  const llvm::BasicBlock& here = *end.getParent();
  if (const auto* const branch = llvm::dyn_cast<llvm::BranchInst>(&end)) {
    if (branch->isConditional()) {
      body_ += "if (" + operand(branch->getCondition()) + ") " + jump(here, *branch->getSuccessor(0)) +
               " else " + jump(here, *branch->getSuccessor(1)) + "\n";
    } else {
      body_ += jump(here, *branch->getSuccessor(0)) + "\n";
    }
    return;
  }
  if (const auto* const chosen = llvm::dyn_cast<llvm::SwitchInst>(&end)) {
    if (opencl_container(chosen->getCondition()->getType()) > 64) refuse_for_opencl("a choice by 128 bits");
    for (const auto& each : chosen->cases()) {
      body_ += "if (" + operand(chosen->getCondition()) + " == " + operand(each.getCaseValue()) + ") " +
               jump(here, *each.getCaseSuccessor()) + "\n";
    }
    body_ += jump(here, *chosen->getDefaultDest()) + "\n";
    return;
  }
  if (const auto* const back = llvm::dyn_cast<llvm::ReturnInst>(&end)) {
    const llvm::Value* const given = back->getReturnValue();
    const Space space = spaces_.returned(back->getFunction());
    body_ += given == nullptr ? "return;\n" : "return " + operand(given, space) + ";\n";
    return;
  }
  if (!llvm::isa<llvm::UnreachableInst>(end)) refuse_for_opencl("a jump of an unknown kind");
  llvm::Type* const type = here.getParent()->getReturnType();
  body_ +=
      type->isVoidTy() ? "return;\n" : "return " + zero(type, spaces_.returned(here.getParent())) + ";\n";
}

}  // namespace ingot::codegen
