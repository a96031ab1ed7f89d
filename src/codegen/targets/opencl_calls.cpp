#include <llvm/IR/IntrinsicInst.h>

#include "base/error.h"
#include "codegen/targets/opencl_text.h"
#include "codegen/targets/opencl_writer.h"

namespace ingot::codegen {

namespace Id = llvm::Intrinsic;

std::string OpenClWriter::called(const std::string& name, const llvm::CallInst& call) {
  std::string text = name + "(";
  for (unsigned i = 0; i < call.arg_size(); ++i) {
    const llvm::Value* const given = call.getArgOperand(i);
    const llvm::Function* const callee = call.getCalledFunction();
    const bool is_defined = callee != nullptr && !callee->isDeclaration();
    text +=
        (i == 0 ? "" : ", ") + operand(given, is_defined ? spaces_.of(callee->getArg(i)) : spaces_.of(given));
  }
  return text + ")";
}

void OpenClWriter::write_call(const llvm::CallInst& call) {
  const llvm::Function* const callee = call.getCalledFunction();
  if (callee == nullptr) refuse_for_opencl("a call of an address");
  if (const auto* const known = llvm::dyn_cast<llvm::IntrinsicInst>(&call)) {
    if (const auto* const memory = llvm::dyn_cast<llvm::MemIntrinsic>(known)) return write_memory(*memory);
    if (llvm::isa<llvm::WithOverflowInst>(known)) return write_overflow(*known);
    switch (known->getIntrinsicID()) {
      case Id::assume:
      case Id::lifetime_start:
      case Id::lifetime_end:
      case Id::experimental_noalias_scope_decl:
      case Id::donothing: return;
      default: return set(call, intrinsic(*known));
    }
  }
  const std::string name = callee->getName().str();
  if (name == kOpenClBarrier || name == kOpenClFence) helpers_.insert(name);
  else if (callee->isDeclaration() && !name.starts_with("get_"))
    refuse_for_opencl("the function `" + name + '`');
  set(call, called(name, call));
}

void OpenClWriter::write_memory(const llvm::MemIntrinsic& call) {
  const std::string count = operand(call.getLength());
  const std::string to = operand(call.getRawDest());
  std::string from;
  bool is_upwards = true;
  if (const auto* const fill = llvm::dyn_cast<llvm::MemSetInst>(&call)) {
    from = operand(fill->getValue());
  } else {
    from = operand(llvm::cast<llvm::MemTransferInst>(call).getRawSource()) + "[k]";
    is_upwards = call.getIntrinsicID() != Id::memmove;
  }
  if (!is_upwards) refuse_for_opencl("a move of memory that overlaps");
  body_ += "for (ulong k = 0; k < " + count + "; ++k) " + to + "[k] = " + from + ";\n";
}

void OpenClWriter::write_overflow(const llvm::IntrinsicInst& call) {
  const llvm::Value* const left = call.getArgOperand(0);
  const llvm::Value* const right = call.getArgOperand(1);
  Type* const type = left->getType();
  const unsigned bits = opencl_bits(type);
  const std::string a = widened(left);
  const std::string b = widened(right);
  const std::string name = variable(&call);
  const std::string given = name + ".f0";
  const std::string top = std::to_string(bits - 1);
  declarations_ += type_of(&call) + " " + name + ";\n";
  const auto write = [&](const std::string& value, const std::string& overflows) {
    body_ += given + " = " + masked(type, value) + "; " + name + ".f1 = " + overflows + ";\n";
  };
  switch (call.getIntrinsicID()) {
    case Id::uadd_with_overflow: return write(a + " + " + b, given + " < " + operand(left));
    case Id::usub_with_overflow: return write(a + " - " + b, operand(left) + " < " + operand(right));
    case Id::sadd_with_overflow:
      return write(a + " + " + b,
                   "(((" + a + " ^ " + given + ") & (" + b + " ^ " + given + ")) >> " + top + ") & 1");
    case Id::ssub_with_overflow:
      return write(a + " - " + b,
                   "(((" + a + " ^ " + b + ") & (" + a + " ^ " + given + ")) >> " + top + ") & 1");
    case Id::umul_with_overflow:
      if (bits > 32 && bits < 64) break;
      return write(a + " * " + b, bits == 64 ? "mul_hi(" + a + ", " + b + ") != 0"
                                             : "((ulong)" + operand(left) + " * (ulong)" + operand(right) +
                                                   ") >> " + std::to_string(bits) + " != 0");
    case Id::smul_with_overflow: {
      if (bits > 32 && bits < 64) break;
      const std::string x = as_signed(left);
      const std::string y = as_signed(right);
      if (bits == 64)
        return write(a + " * " + b, "mul_hi(" + x + ", " + y + ") != ((long)" + given + " >> 63)");
      const std::string shift = std::to_string(64 - bits);
      return write(a + " * " + b, "(long)" + x + " * (long)" + y + " != ((long)((ulong)" + given + " << " +
                                      shift + ") >> " + shift + ")");
    }
    default: break;
  }
  refuse_for_opencl("the operation \"" + call.getCalledFunction()->getName().str() + '"');
}

std::string OpenClWriter::float_intrinsic(const llvm::IntrinsicInst& call) {
  Type* const type = call.getType();
  const llvm::Value* const first = call.getArgOperand(0);
  const auto of_one = [&](const char* name) {
    return rounded(type, std::string(name) + "(" + number(first) + ")");
  };
  const auto chosen = [&](const char* sign) {
    const llvm::Value* const second = call.getArgOperand(1);
    return "(" + number(second) + " != " + number(second) + " || " + number(first) + sign + number(second) +
           " ? " + operand(first) + " : " + operand(second) + ")";
  };
  switch (call.getIntrinsicID()) {
    case Id::fabs: return of_one("fabs");
    case Id::sqrt: return of_one("sqrt");
    case Id::floor: return of_one("floor");
    case Id::ceil: return of_one("ceil");
    case Id::trunc: return of_one("trunc");
    case Id::round: return of_one("round");
    case Id::rint:
    case Id::nearbyint:
    case Id::roundeven: return of_one("rint");
    case Id::copysign:
      return rounded(type, "copysign(" + number(first) + ", " + number(call.getArgOperand(1)) + ")");
    case Id::minnum: return chosen(" < ");
    case Id::maxnum: return chosen(" > ");
    case Id::fma:
      if (!type->isHalfTy()) return called("fma", call);
      break;
    default: break;
  }
  refuse_for_opencl("the operation \"" + call.getCalledFunction()->getName().str() + '"');
}

std::string OpenClWriter::intrinsic(const llvm::IntrinsicInst& call) {
  Type* const type = call.getType();
  const auto given = [&](unsigned i) { return operand(call.getArgOperand(i)); };
  if (type->isFloatTy() || type->isDoubleTy() || type->isHalfTy()) return float_intrinsic(call);
  if (call.getIntrinsicID() == Id::is_fpclass) {
    const Type* const number = call.getArgOperand(0)->getType();
    const std::string bits = number->isDoubleTy()  ? "(as_ulong(" + given(0) + "), 52, 11)"
                             : number->isFloatTy() ? "(as_uint(" + given(0) + "), 23, 8)"
                                                   : "(" + given(0) + ", 10, 5)";
    return "(" + std::string(helper("ingot_class")) + bits + " & " + given(1) + ") != 0";
  }
  if (type->isIntegerTy() && opencl_container(type) <= 64) return integer_intrinsic(call);
  if (call.getIntrinsicID() == Id::abs) {
    helper("ingot_wide");
    return "((long)" + given(0) + ".y < 0 ? ingot_wide_sub((ulong2)(0UL, 0UL), " + given(0) +
           ") : " + given(0) + ")";
  }
  refuse_for_opencl("the operation \"" + call.getCalledFunction()->getName().str() + '"');
}

std::string OpenClWriter::integer_intrinsic(const llvm::IntrinsicInst& call) {
  Type* const type = call.getType();
  const unsigned bits = opencl_bits(type);
  const unsigned container = opencl_container(type);
  const llvm::Value* const first = call.getArgOperand(0);
  const std::string a = operand(first);
  const std::string b = call.arg_size() > 1 ? operand(call.getArgOperand(1)) : "";
  const auto greater = [&](const std::string& x, const std::string& y, const std::string& yes,
                           const std::string& no) {
    return "(" + x + " > " + y + " ? " + yes + " : " + no + ")";
  };
  const auto signed_of = [&](unsigned i) { return as_signed(call.getArgOperand(i)); };
  const std::string width = std::to_string(bits);
  switch (call.getIntrinsicID()) {
    case Id::smax: return greater(signed_of(0), signed_of(1), a, b);
    case Id::smin: return greater(signed_of(0), signed_of(1), b, a);
    case Id::umax: return greater(a, b, a, b);
    case Id::umin: return greater(a, b, b, a);
    case Id::abs: return greater("0", signed_of(0), masked(type, "0 - " + widened(first)), a);
    case Id::ctpop: return "popcount(" + a + ")";
    case Id::ctlz: return masked(type, "clz(" + a + ") - " + std::to_string(container - bits));
    case Id::cttz:
      return "popcount((" + type_name(type) + ")" + "(" +
             masked(type, "~" + widened(first) + " & (" + widened(first) + " - 1)") + "))";
    case Id::fshl:
    case Id::fshr: {
      if (bits != container || bits < 32) break;
      const bool is_left = call.getIntrinsicID() == Id::fshl;
      const std::string by = "(" + operand(call.getArgOperand(2)) + " & " + std::to_string(bits - 1) + ")";
      const std::string rest = "(" + width + " - " + by + ")";
      return "(" + by + " == 0 ? " + (is_left ? a : b) + " : " +
             (is_left ? a + " << " + by + " | " + b + " >> " + rest
                      : a + " << " + rest + " | " + b + " >> " + by) +
             ")";
    }
    case Id::uadd_sat:
    case Id::usub_sat:
    case Id::sadd_sat:
    case Id::ssub_sat: {
      if (bits != container) break;
      const Id::ID id = call.getIntrinsicID();
      const bool adds = id == Id::uadd_sat || id == Id::sadd_sat;
      const bool is_unsigned = id == Id::uadd_sat || id == Id::usub_sat;
      const std::string cast = is_unsigned ? "" : "(" + type_name(type).substr(1) + ")";
      return "(" + type_name(type) + ")" + (adds ? "add_sat(" : "sub_sat(") + cast + a + ", " + cast + b +
             ")";
    }
    case Id::ucmp: return masked(type, "(" + a + " > " + b + ") - (" + a + " < " + b + ")");
    case Id::scmp:
      return masked(type, "(" + signed_of(0) + " > " + signed_of(1) + ") - (" + signed_of(0) + " < " +
                              signed_of(1) + ")");
    case Id::fptosi_sat:
    case Id::fptoui_sat: {
      if (bits != container) break;
      const bool is_signed = call.getIntrinsicID() == Id::fptosi_sat;
      const std::string name = is_signed ? type_name(type).substr(1) : type_name(type);
      return "(" + type_name(type) + ")(" + a + " != " + a + " ? 0 : convert_" + name + "_sat_rtz(" + a +
             "))";
    }
    default: break;
  }
  refuse_for_opencl("the operation \"" + call.getCalledFunction()->getName().str() + '"');
}

}  // namespace ingot::codegen
