#include <llvm/IR/Constants.h>
#include <llvm/IR/Operator.h>

#include <algorithm>

#include "base/error.h"
#include "codegen/targets/opencl_writer.h"

namespace ingot::codegen {

namespace {

const char* qualifier(Space space) {
  switch (space) {
    case Space::Local: return "__local";
    case Space::Private: return "__private";
    case Space::Constant: return "__constant";
    default: return "__global";
  }
}

std::string hexadecimal(uint64_t bits) {
  constexpr const char* kDigits = "0123456789abcdef";
  std::string text;
  do text.insert(text.begin(), kDigits[bits & 15]);
  while ((bits >>= 4) != 0);
  return "0x" + text;
}

const char* unsigned_name(unsigned container) {
  return container == 8    ? "uchar"
         : container == 16 ? "ushort"
         : container == 32 ? "uint"
         : container == 64 ? "ulong"
                           : "ulong2";
}

}  // namespace

unsigned opencl_bits(const llvm::Type* type) { return type->isHalfTy() ? 16 : type->getIntegerBitWidth(); }

unsigned opencl_container(const llvm::Type* type) {
  const unsigned bits = opencl_bits(type);
  if (bits > 64 && bits != 128) refuse_for_opencl("an integer of " + std::to_string(bits) + " bits");
  return bits <= 8 ? 8 : bits <= 16 ? 16 : bits <= 32 ? 32 : bits <= 64 ? 64 : 128;
}

std::string OpenClWriter::type_name(Type* type, Space space) {
  if (type->isVoidTy()) return "void";
  if (type->isFloatTy()) return "float";
  if (type->isDoubleTy()) return "double";
  if (type->isIntegerTy() || type->isHalfTy()) return unsigned_name(opencl_container(type));
  if (type->isPointerTy()) return std::string(qualifier(space)) + " uchar*";
  if (type->isStructTy() || type->isArrayTy()) return struct_name(type);
  if (const auto* const vector = llvm::dyn_cast<llvm::FixedVectorType>(type)) {
    const unsigned count = vector->getNumElements();
    Type* const element = vector->getElementType();
    const bool is_there = count == 2 || count == 4 || count == 8 || count == 16;
    const bool is_whole = element->isFloatTy() || element->isDoubleTy() ||
                          (element->isIntegerTy() && opencl_bits(element) == opencl_container(element) &&
                           opencl_bits(element) <= 64);
    if (is_there && is_whole) return type_name(element) + std::to_string(count);
  }
  refuse_for_opencl("a value of an unknown type");
}

std::string OpenClWriter::struct_name(Type* type) {
  if (const auto known = names_.find(type); known != names_.end()) return known->second;
  const uint64_t count = type->isArrayTy() ? type->getArrayNumElements() : type->getStructNumElements();
  std::string members;
  for (uint64_t i = 0; i < count; ++i) {
    Type* const member = type->isArrayTy() ? type->getArrayElementType()
                                           : type->getStructElementType(static_cast<unsigned>(i));
    if (member->isPointerTy()) refuse_for_opencl("a pair of pointers");
    members += " " + type_name(member) + " f" + std::to_string(i) + ";";
  }
  const std::string name = "struct ingot_s" + std::to_string(names_.size());
  structs_ += name + " {" + members + " };\n";
  return names_[type] = name;
}

std::string OpenClWriter::variable(const Value* value) {
  const auto [at, is_new] = numbers_.try_emplace(value, numbers_.size());
  return "v" + std::to_string(at->second);
}

std::string OpenClWriter::operand(const Value* value, Space space) {
  if (const auto* const given = llvm::dyn_cast<llvm::Constant>(value)) {
    if (value->getType()->isPointerTy() && !llvm::isa<llvm::GlobalVariable, llvm::ConstantExpr>(value))
      return zero(value->getType(), space);
    return constant(*given);
  }
  return variable(value);
}

std::string OpenClWriter::zero(Type* type, Space space) {
  if (type->isPointerTy()) return "((" + type_name(type, space) + ")0)";
  return constant(*llvm::Constant::getNullValue(type));
}

std::string OpenClWriter::constant(const llvm::Constant& constant) {
  Type* const type = constant.getType();
  if (llvm::isa<llvm::UndefValue>(constant)) return zero(type);  // poison, too
  if (const auto* const variable = llvm::dyn_cast<llvm::GlobalVariable>(&constant))
    return "((" + type_of(variable) + ")" + variable->getName().str() + ")";
  if (const auto* const made = llvm::dyn_cast<llvm::ConstantExpr>(&constant)) {
    if (const auto* const at = llvm::dyn_cast<llvm::GEPOperator>(made)) return offset(*at);
    if (type->isPointerTy() && made->isCast()) return operand(made->getOperand(0));
    refuse_for_opencl("a number made of an address");
  }
  if (const auto* const number = llvm::dyn_cast<llvm::ConstantInt>(&constant)) {
    const llvm::APInt& bits = number->getValue();
    if (opencl_container(type) == 128) {
      return "((ulong2)(" + hexadecimal(bits.extractBitsAsZExtValue(64, 0)) + "UL, " +
             hexadecimal(bits.extractBitsAsZExtValue(64, 64)) + "UL))";
    }
    const std::string digits = std::to_string(bits.getZExtValue());
    const unsigned container = opencl_container(type);
    if (container == 64) return digits + "UL";
    return container == 32 ? digits + "U" : "((" + type_name(type) + ")" + digits + ")";
  }
  if (const auto* const number = llvm::dyn_cast<llvm::ConstantFP>(&constant)) {
    const std::string digits = hexadecimal(number->getValueAPF().bitcastToAPInt().getZExtValue());
    if (type->isDoubleTy()) return "as_double(" + digits + "UL)";
    return type->isFloatTy() ? "as_float(" + digits + "U)" : "((ushort)" + digits + ")";
  }
  const bool is_vector = type->isVectorTy();
  if (!is_vector && !type->isStructTy() && !type->isArrayTy()) refuse_for_opencl("an unknown constant");
  std::string elements;
  for (unsigned i = 0; const llvm::Constant* const element = constant.getAggregateElement(i); ++i)
    elements += (i == 0 ? "" : ", ") + operand(element);
  return is_vector ? "((" + type_name(type) + ")(" + elements + "))"
                   : "((" + type_name(type) + "){" + elements + "})";
}

std::string OpenClWriter::number(const Value* value) {
  if (!value->getType()->isHalfTy()) return operand(value);
  return std::string(helper("ingot_from_half")) + "(" + operand(value) + ")";
}

std::string OpenClWriter::rounded(Type* type, const std::string& expression) {
  return type->isHalfTy() ? std::string(helper("ingot_to_half")) + "(" + expression + ")" : expression;
}

std::string OpenClWriter::as_signed(const Value* value) {
  const unsigned bits = opencl_bits(value->getType());
  const std::string given = operand(value);
  switch (bits) {
    case 8: return "((int)(char)" + given + ")";
    case 16: return "((int)(short)" + given + ")";
    case 32: return "((int)" + given + ")";
    case 64: return "((long)" + given + ")";
    default: break;
  }
  if (bits > 64) refuse_for_opencl("an operation of 128 bits");
  const bool is_long = bits > 32;
  const std::string shift = std::to_string((is_long ? 64 : 32) - bits);
  return is_long ? "((long)(" + given + " << " + shift + ") >> " + shift + ")"
                 : "((int)((uint)" + given + " << " + shift + ") >> " + shift + ")";
}

std::string OpenClWriter::widened(const Value* value) {
  const unsigned container = opencl_container(value->getType());
  if (container > 64) refuse_for_opencl("an operation of 128 bits");
  return container < 32 ? "(uint)" + operand(value) : operand(value);
}

std::string OpenClWriter::masked(Type* type, const std::string& expression) {
  const unsigned bits = opencl_bits(type);
  const std::string name = type_name(type);
  if (bits == opencl_container(type)) return "(" + name + ")(" + expression + ")";
  return "(" + name + ")((" + expression + ") & " + hexadecimal((uint64_t{1} << bits) - 1) +
         (bits > 32 ? "UL)" : "U)");
}

std::string OpenClWriter::access_type(Type* type, llvm::Align alignment) {
  const std::string own = type_name(type);
  std::string plain = own;
  std::ranges::replace(plain, ' ', '_');
  const uint64_t size = layout_.getTypeStoreSize(type);
  const uint64_t aligned = std::min<uint64_t>(alignment.value(), llvm::PowerOf2Ceil(size));
  const std::string name = "ingot_" + plain + "_" + std::to_string(aligned);
  if (accesses_.insert(name).second) {
    access_types_ += "typedef " + own + " " + name + " __attribute__((may_alias, aligned(" +
                     std::to_string(aligned) + ")));\n";
  }
  return name;
}

std::string OpenClWriter::lvalue(const Value* address, Type* type, llvm::Align alignment, bool is_volatile) {
  if (type->isStructTy() || type->isArrayTy()) refuse_for_opencl("a struct in memory");
  if (!type->isPointerTy() && !type->isVectorTy() && !type->isFloatingPointTy() &&
      layout_.getTypeStoreSizeInBits(type) != opencl_container(type))
    refuse_for_opencl("an integer of " + std::to_string(opencl_bits(type)) + " bits in memory");
  Type* const stored = type->isPointerTy() ? Type::getInt64Ty(type->getContext()) : type;
  return std::string("*(") + (is_volatile ? "volatile " : "") + qualifier(spaces_.of(address)) + " " +
         access_type(stored, alignment) + "*)" + operand(address);
}

}  // namespace ingot::codegen
