#include <llvm/IR/Operator.h>

#include "base/error.h"
#include "codegen/targets/opencl_writer.h"

namespace ingot::codegen {

using llvm::Instruction;

namespace {

bool is_wide(const llvm::Type* type) { return type->isIntegerTy(128); }

}  // namespace

void OpenClWriter::set(const Instruction& instruction, const std::string& expression) {
  if (instruction.getType()->isVoidTy()) {
    body_ += expression + ";\n";
    return;
  }
  const std::string name = variable(&instruction);
  declarations_ += type_of(&instruction) + " " + name + ";\n";
  body_ += name + " = " + expression + ";\n";
}

void OpenClWriter::write(const Instruction& instruction) {
  switch (instruction.getOpcode()) {
    case Instruction::Alloca: return write_alloca(llvm::cast<llvm::AllocaInst>(instruction));
    case Instruction::Store: return write_store(llvm::cast<llvm::StoreInst>(instruction));
    case Instruction::AtomicRMW: return write_atomic(llvm::cast<llvm::AtomicRMWInst>(instruction));
    case Instruction::AtomicCmpXchg: return write_exchange(llvm::cast<llvm::AtomicCmpXchgInst>(instruction));
    case Instruction::InsertValue: return write_insertion(llvm::cast<llvm::InsertValueInst>(instruction));
    case Instruction::Call: return write_call(llvm::cast<llvm::CallInst>(instruction));
    case Instruction::InsertElement: {
      const auto* const at = llvm::dyn_cast<llvm::ConstantInt>(instruction.getOperand(2));
      if (at == nullptr) refuse_for_opencl("an index of a vector that is not known");
      set(instruction, operand(instruction.getOperand(0)));
      constexpr const char* kComponents = "0123456789abcdef";
      body_ += variable(&instruction) + ".s" + kComponents[at->getZExtValue() & 15] + " = " +
               operand(instruction.getOperand(1)) + ";\n";
      return;
    }
    case Instruction::Fence: {
      body_ += helper("ingot_fence");
      body_ += "();\n";
      return;
    }
    default: set(instruction, expression(instruction));
  }
}

std::string OpenClWriter::expression(const Instruction& instruction) {
  if (const auto* const op = llvm::dyn_cast<llvm::BinaryOperator>(&instruction)) return binary(*op);
  if (const auto* const made = llvm::dyn_cast<llvm::CastInst>(&instruction)) return cast(*made);
  const auto given = [&](unsigned i) { return operand(instruction.getOperand(i), spaces_.of(&instruction)); };
  switch (instruction.getOpcode()) {
    case Instruction::FNeg:
      return instruction.getType()->isHalfTy() ? "(ushort)(" + given(0) + " ^ 0x8000)" : "-" + given(0);
    case Instruction::ICmp: return compare(llvm::cast<llvm::ICmpInst>(instruction));
    case Instruction::FCmp: return compare(llvm::cast<llvm::FCmpInst>(instruction));
    case Instruction::Select:
      if (instruction.getOperand(0)->getType()->isVectorTy()) break;
      return "(" + operand(instruction.getOperand(0)) + " ? " + given(1) + " : " + given(2) + ")";
    case Instruction::Freeze: return given(0);
    case Instruction::GetElementPtr: return offset(llvm::cast<llvm::GEPOperator>(instruction));
    case Instruction::Load: return load(llvm::cast<llvm::LoadInst>(instruction));
    case Instruction::ExtractValue: {
      std::string text = operand(instruction.getOperand(0));
      for (const unsigned i : llvm::cast<llvm::ExtractValueInst>(instruction).getIndices())
        text += ".f" + std::to_string(i);
      return text;
    }
    case Instruction::ExtractElement: {
      const auto* const at = llvm::dyn_cast<llvm::ConstantInt>(instruction.getOperand(1));
      if (at == nullptr) break;
      constexpr const char* kComponents = "0123456789abcdef";
      return operand(instruction.getOperand(0)) + ".s" + kComponents[at->getZExtValue() & 15];
    }
    case Instruction::ShuffleVector: return shuffled(llvm::cast<llvm::ShuffleVectorInst>(instruction));
    default: break;
  }
  refuse_for_opencl("the operation \"" + std::string(instruction.getOpcodeName()) + '"');
}

std::string OpenClWriter::shuffled(const llvm::ShuffleVectorInst& shuffle) {
  const auto count = llvm::cast<llvm::FixedVectorType>(shuffle.getOperand(0)->getType())->getNumElements();
  constexpr const char* kComponents = "0123456789abcdef";
  std::string elements;
  for (const int index : shuffle.getShuffleMask()) {
    const unsigned at = index < 0 ? 0 : static_cast<unsigned>(index);
    elements += (elements.empty() ? "" : ", ") + operand(shuffle.getOperand(at < count ? 0 : 1)) + ".s" +
                kComponents[at < count ? at : at - count];
  }
  return "(" + type_of(&shuffle) + ")(" + elements + ")";
}

std::string OpenClWriter::binary(const llvm::BinaryOperator& op) {
  Type* const type = op.getType();
  const char* const sign = op.getOpcode() == Instruction::FAdd   ? " + "
                           : op.getOpcode() == Instruction::FSub ? " - "
                           : op.getOpcode() == Instruction::FMul ? " * "
                           : op.getOpcode() == Instruction::FDiv ? " / "
                                                                 : nullptr;
  if (sign != nullptr) return rounded(type, number(op.getOperand(0)) + sign + number(op.getOperand(1)));
  const std::string a = operand(op.getOperand(0));
  const std::string b = operand(op.getOperand(1));
  if (!type->isIntegerTy()) refuse_for_opencl("the operation \"" + std::string(op.getOpcodeName()) + '"');
  if (is_wide(type)) return wide_binary(op);
  const std::string wide_a = widened(op.getOperand(0));
  const std::string wide_b = widened(op.getOperand(1));
  switch (op.getOpcode()) {
    case Instruction::Add: return masked(type, wide_a + " + " + wide_b);
    case Instruction::Sub: return masked(type, wide_a + " - " + wide_b);
    case Instruction::Mul: return masked(type, wide_a + " * " + wide_b);
    case Instruction::UDiv: return masked(type, wide_a + " / " + wide_b);
    case Instruction::URem: return masked(type, wide_a + " % " + wide_b);
    case Instruction::SDiv:
      return masked(type, as_signed(op.getOperand(0)) + " / " + as_signed(op.getOperand(1)));
    case Instruction::SRem:
      return masked(type, as_signed(op.getOperand(0)) + " % " + as_signed(op.getOperand(1)));
    case Instruction::Shl: return masked(type, wide_a + " << " + wide_b);
    case Instruction::LShr: return masked(type, wide_a + " >> " + wide_b);
    case Instruction::AShr: return masked(type, as_signed(op.getOperand(0)) + " >> " + wide_b);
    case Instruction::And: return masked(type, a + " & " + b);
    case Instruction::Or: return masked(type, a + " | " + b);
    case Instruction::Xor: return masked(type, a + " ^ " + b);
    default: refuse_for_opencl("the operation \"" + std::string(op.getOpcodeName()) + '"');
  }
}

std::string OpenClWriter::wide_binary(const llvm::BinaryOperator& op) {
  helper("ingot_wide");
  switch (op.getOpcode()) {
    case Instruction::Add:
    case Instruction::Sub:
    case Instruction::Mul:
    case Instruction::Shl:
    case Instruction::LShr:
    case Instruction::AShr:
    case Instruction::And:
    case Instruction::Or:
    case Instruction::Xor:
      return "ingot_wide_" + std::string(op.getOpcodeName()) + "(" + operand(op.getOperand(0)) + ", " +
             operand(op.getOperand(1)) + ")";
    default: refuse_for_opencl("a division of 128 bits");
  }
}

std::string OpenClWriter::cast(const llvm::CastInst& cast) {
  const llvm::Value* const from = cast.getOperand(0);
  Type* const type = cast.getType();
  Type* const given = from->getType();
  std::string value = operand(from, spaces_.of(&cast));
  const std::string name = type_of(&cast);
  switch (cast.getOpcode()) {
    case Instruction::Trunc: return masked(type, is_wide(given) ? value + ".x" : value);
    case Instruction::ZExt:
      return is_wide(type) ? "(ulong2)((ulong)" + value + ", 0UL)" : "(" + name + ")" + value;
    case Instruction::SExt: {
      const std::string number = as_signed(from);
      if (is_wide(type)) return "(ulong2)((ulong)(long)" + number + ", (ulong)((long)" + number + " >> 63))";
      return masked(type, opencl_container(type) > 32 ? "(long)" + number : number);
    }
    case Instruction::FPTrunc: return type->isHalfTy() ? rounded(type, value) : "(float)" + value;
    case Instruction::FPExt: return "(" + name + ")" + number(from);
    default: break;
  }
  switch (cast.getOpcode()) {
    case Instruction::UIToFP:
      if (is_wide(given)) break;
      return rounded(type, (type->isHalfTy() ? "(double)" : "(" + name + ")") + value);
    case Instruction::SIToFP:
      return rounded(type, (type->isHalfTy() ? "(double)" : "(" + name + ")") + as_signed(from));
    case Instruction::FPToUI:
      if (is_wide(type)) break;
      return masked(type, (opencl_container(type) > 32 ? "(ulong)" : "(uint)") + number(from));
    case Instruction::FPToSI:
      if (is_wide(type)) break;
      return masked(type, (opencl_container(type) > 32 ? "(long)" : "(int)") + number(from));
    case Instruction::PtrToInt: return masked(type, "(ulong)" + value);
    case Instruction::AddrSpaceCast: return value;
    case Instruction::BitCast: {
      if (type == given || type->isPointerTy()) return value;
      const bool are_bits =
          (type->isIntegerTy() || type->isHalfTy()) && (given->isIntegerTy() || given->isHalfTy());
      if (are_bits) return value;
      return "as_" + name + "(" + value + ")";
    }
    default: break;
  }
  refuse_for_opencl("the conversion \"" + std::string(cast.getOpcodeName()) + '"');
}

std::string OpenClWriter::compare(const llvm::ICmpInst& compare) {
  using llvm::CmpInst;
  const llvm::Value* const left = compare.getOperand(0);
  const llvm::Value* const right = compare.getOperand(1);
  Type* const type = left->getType();
  if (type->isVectorTy()) refuse_for_opencl("a comparison of vectors");
  const CmpInst::Predicate predicate = compare.getPredicate();
  if (is_wide(type)) {
    helper("ingot_wide");
    std::string a = operand(left);
    std::string b = operand(right);
    if (CmpInst::isEquality(predicate))
      return std::string(predicate == CmpInst::ICMP_NE ? "!" : "") + "ingot_wide_eq(" + a + ", " + b + ")";
    const bool is_greater = llvm::ICmpInst::isGT(predicate) || llvm::ICmpInst::isLE(predicate);
    if (is_greater) std::swap(a, b);
    const bool is_strict = CmpInst::isStrictPredicate(predicate);
    return std::string(is_strict ? "" : "!") + "ingot_wide_" + (compare.isSigned() ? "slt" : "ult") + "(" +
           a + ", " + b + ")";
  }
  std::string a = operand(left);
  std::string b = operand(right);
  if (type->isPointerTy()) {
    a = "(ulong)" + operand(left, spaces_.of(left));
    b = "(ulong)" + operand(right, spaces_.of(right));
  } else if (compare.isSigned()) {
    a = as_signed(left);
    b = as_signed(right);
  }
  const char* const sign = predicate == CmpInst::ICMP_EQ     ? " == "
                           : predicate == CmpInst::ICMP_NE   ? " != "
                           : llvm::ICmpInst::isLT(predicate) ? " < "
                           : llvm::ICmpInst::isLE(predicate) ? " <= "
                           : llvm::ICmpInst::isGT(predicate) ? " > "
                                                             : " >= ";
  return a + sign + b;
}

std::string OpenClWriter::compare(const llvm::FCmpInst& compare) {
  using llvm::CmpInst;
  Type* const type = compare.getOperand(0)->getType();
  if (type->isVectorTy()) refuse_for_opencl("a comparison of vectors");
  const std::string a = number(compare.getOperand(0));
  const std::string b = number(compare.getOperand(1));
  const auto is = [&](const char* sign) { return a + sign + b; };
  const auto is_not = [&](const char* sign) { return "!(" + a + sign + b + ")"; };
  std::string differs = "(" + is(" < ") + " || " + is(" > ") + ")";
  switch (compare.getPredicate()) {
    case CmpInst::FCMP_FALSE: return "0";
    case CmpInst::FCMP_TRUE: return "1";
    case CmpInst::FCMP_OEQ: return is(" == ");
    case CmpInst::FCMP_OGT: return is(" > ");
    case CmpInst::FCMP_OGE: return is(" >= ");
    case CmpInst::FCMP_OLT: return is(" < ");
    case CmpInst::FCMP_OLE: return is(" <= ");
    case CmpInst::FCMP_ONE: return differs;
    case CmpInst::FCMP_ORD: return "(" + a + " == " + a + " && " + b + " == " + b + ")";
    case CmpInst::FCMP_UNO: return "(" + a + " != " + a + " || " + b + " != " + b + ")";
    case CmpInst::FCMP_UEQ: return "!" + differs;
    case CmpInst::FCMP_UGT: return is_not(" <= ");
    case CmpInst::FCMP_UGE: return is_not(" < ");
    case CmpInst::FCMP_ULT: return is_not(" >= ");
    case CmpInst::FCMP_ULE: return is_not(" > ");
    case CmpInst::FCMP_UNE: return is(" != ");
    default: refuse_for_opencl("an unknown comparison");
  }
}

std::string OpenClWriter::offset(const llvm::GEPOperator& offset) {
  const unsigned bits = layout_.getIndexTypeSizeInBits(offset.getType());
  llvm::MapVector<llvm::Value*, llvm::APInt> scaled;
  llvm::APInt fixed(bits, 0);
  if (!offset.collectOffset(layout_, bits, scaled, fixed)) refuse_for_opencl("an address of scalable parts");
  const std::string base = operand(offset.getPointerOperand(), spaces_.of(&offset));
  std::string bytes;
  for (const auto& [index, scale] : scaled) {
    const bool is_narrow = opencl_bits(index->getType()) < 64;
    const std::string number = is_narrow ? "(ulong)(long)" + as_signed(index) : operand(index);
    bytes += (bytes.empty() ? "" : " + ") + number +
             (scale == 1 ? "" : " * " + std::to_string(scale.getZExtValue()) + "UL");
  }
  if (fixed != 0) bytes += (bytes.empty() ? "" : " + ") + std::to_string(fixed.getZExtValue()) + "UL";
  return bytes.empty() ? base : "(" + base + " + (long)(" + bytes + "))";
}

std::string OpenClWriter::load(const llvm::LoadInst& load) {
  Type* const type = load.getType();
  if (type->isIntegerTy(1)) {
    Type* const byte = Type::getInt8Ty(type->getContext());
    return lvalue(load.getPointerOperand(), byte, load.getAlign(), load.isVolatile()) + " & 1";
  }
  const std::string given =
      lvalue(load.getPointerOperand(), type, load.getAlign(), load.isVolatile() || load.isAtomic());
  return type->isPointerTy() ? "(" + type_of(&load) + ")" + given : given;
}

void OpenClWriter::write_store(const llvm::StoreInst& store) {
  const llvm::Value* const value = store.getValueOperand();
  Type* const type = value->getType();
  Type* const stored = type->isIntegerTy(1) ? Type::getInt8Ty(type->getContext()) : type;
  body_ +=
      lvalue(store.getPointerOperand(), stored, store.getAlign(), store.isVolatile() || store.isAtomic()) +
      " = " + (type->isPointerTy() ? "(ulong)" : "") + operand(value, spaces_.of(value)) + ";\n";
}

void OpenClWriter::write_alloca(const llvm::AllocaInst& alloca) {
  const std::optional<llvm::TypeSize> size = alloca.getAllocationSize(layout_);
  if (!size || size->isScalable()) refuse_for_opencl("memory of a thread whose size is not known");
  const std::string name = variable(&alloca);
  declarations_ += "__private uchar " + name + "m[" + std::to_string(std::max<uint64_t>(*size, 1)) +
                   "] __attribute__((aligned(" + std::to_string(alloca.getAlign().value()) + ")));\n" +
                   "__private uchar* " + name + " = " + name + "m;\n";
}

void OpenClWriter::write_insertion(const llvm::InsertValueInst& insertion) {
  set(insertion, operand(insertion.getAggregateOperand()));
  std::string member = variable(&insertion);
  for (const unsigned i : insertion.getIndices()) member += ".f" + std::to_string(i);
  body_ += member + " = " + operand(insertion.getInsertedValueOperand()) + ";\n";
}

std::string OpenClWriter::atomic_pointer(const Value* address, Type* type, bool is_signed) {
  const Space space = spaces_.of(address);
  const unsigned bits = static_cast<unsigned>(layout_.getTypeStoreSizeInBits(type));
  if (bits != 32 && bits != 64) refuse_for_opencl("an atomic of " + std::to_string(bits) + " bits");
  const std::string word = std::string(is_signed ? "" : "u") + (bits == 32 ? "int" : "long");
  return "(volatile " + std::string(space == Space::Local ? "__local " : "__global ") + word + "*)" +
         operand(address);
}

void OpenClWriter::write_atomic(const llvm::AtomicRMWInst& atomic) {
  using llvm::AtomicRMWInst;
  const AtomicRMWInst::BinOp op = atomic.getOperation();
  const llvm::Value* const address = atomic.getPointerOperand();
  const llvm::Value* const given = atomic.getValOperand();
  Type* const type = given->getType();
  const std::string name = variable(&atomic);
  const std::string value = operand(given);
  const bool is_signed = op == AtomicRMWInst::Min || op == AtomicRMWInst::Max;
  const char* const word = op == AtomicRMWInst::Xchg                               ? "xchg"
                           : op == AtomicRMWInst::Add                              ? "add"
                           : op == AtomicRMWInst::Sub                              ? "sub"
                           : op == AtomicRMWInst::And                              ? "and"
                           : op == AtomicRMWInst::Or                               ? "or"
                           : op == AtomicRMWInst::Xor                              ? "xor"
                           : op == AtomicRMWInst::Min || op == AtomicRMWInst::UMin ? "min"
                           : op == AtomicRMWInst::Max || op == AtomicRMWInst::UMax ? "max"
                           : op == AtomicRMWInst::FAdd                             ? ""
                                                                                   : nullptr;
  if (word == nullptr) refuse_for_opencl("an unknown atomic");
  if (spaces_.of(address) == Space::Private || spaces_.of(address) == Space::Constant)
    refuse_for_opencl("an atomic of an array of a thread");
  const bool is_double = layout_.getTypeStoreSizeInBits(type) == 64;
  const std::string pointer = atomic_pointer(address, type, is_signed);
  const std::string bits = is_double ? "ulong" : "uint";
  const std::string prefix = is_double ? "atom_" : "atomic_";
  if (op == AtomicRMWInst::FAdd) {
    // Repeated until it succeeds.
    const std::string number = type_name(type);
    declarations_ += number + " " + name + ";\n";
    body_ += "{ " + bits + " now = *" + pointer + ", was; do { was = now; now = " + prefix + "cmpxchg(" +
             pointer + ", was, as_" + bits + "(as_" + number + "(was) + " + value +
             ")); } while (now != was); " + name + " = as_" + number + "(was); }\n";
    return;
  }
  const bool is_number = type->isFloatingPointTy();
  const std::string operand_bits = is_number   ? "as_" + bits + "(" + value + ")"
                                   : is_signed ? as_signed(given)
                                               : value;
  const std::string call = prefix + word + "(" + pointer + ", " + operand_bits + ")";
  set(atomic, is_number ? "as_" + type_name(type) + "(" + call + ")" : "(" + bits + ")" + call);
}

void OpenClWriter::write_exchange(const llvm::AtomicCmpXchgInst& exchange) {
  const llvm::Value* const address = exchange.getPointerOperand();
  Type* const type = exchange.getNewValOperand()->getType();
  const std::string name = variable(&exchange);
  const std::string expected = operand(exchange.getCompareOperand());
  const std::string wanted = operand(exchange.getNewValOperand());
  declarations_ += type_of(&exchange) + " " + name + ";\n";
  if (!type->isIntegerTy()) refuse_for_opencl("an exchange of no integers");
  if (spaces_.of(address) == Space::Private) {
    const std::string own = lvalue(address, type, exchange.getAlign(), false);
    body_ +=
        name + ".f0 = " + own + "; if (" + name + ".f0 == " + expected + ") " + own + " = " + wanted + ";\n";
  } else {
    const bool is_long = type->isIntegerTy(64);
    body_ += name + ".f0 = " + (is_long ? "atom_cmpxchg(" : "atomic_cmpxchg(") +
             atomic_pointer(address, type, false) + ", " + expected + ", " + wanted + ");\n";
  }
  body_ += name + ".f1 = " + name + ".f0 == " + expected + ";\n";
}

}  // namespace ingot::codegen
