#include <algorithm>
#include <set>

#include "softgpu/machine/device.h"
#include "support.h"

namespace softgpu {
namespace {

/// Runs operations that write their names into a log.
class Log {
 public:
  explicit Log(uint64_t seed) : device(options(seed)) {}

  Device device;
  std::string text;

  void put(uint32_t stream, char name) {
    device.enqueue(stream, [this, name](Device&) { text += name; });
  }

 private:
  static DeviceOptions options(uint64_t seed) {
    DeviceOptions made;
    made.memory = 1 << 20;
    made.seed = seed;
    return made;
  }
};

TEST(Streams, OperationsRunWhenSomebodyWaits) {
  Log log(0);
  const uint32_t a = log.device.create_stream(true);
  log.put(a, 'a');
  log.put(a, 'b');
  EXPECT_EQ(log.text, "");
  log.device.run_until({a, 1});
  EXPECT_EQ(log.text, "a");
  log.device.run_all();
  EXPECT_EQ(log.text, "ab");
}

TEST(Streams, GreaterPrioritiesGoFirst) {
  for (uint64_t seed = 0; seed < 10; ++seed) {
    Log log(seed);
    const uint32_t low = log.device.create_stream(false);
    const uint32_t high = log.device.create_stream(false, -2);
    const uint32_t middle = log.device.create_stream(false, -1);
    for (const char name : {'1', '2'}) log.put(low, name);
    for (const char name : {'a', 'b'}) log.put(middle, name);
    log.put(high, 'x');
    log.device.wait_for(high, log.device.now(middle));
    log.put(high, 'y');
    log.device.run_all();
    EXPECT_EQ(log.text, "xaby12");
  }
}

TEST(Streams, ADeviceGoesOnWhileAnotherOneRuns) {
  Log first(0);
  Log second(0);
  const uint32_t a = first.device.create_stream(false);
  const uint32_t b = first.device.create_stream(false);
  const uint32_t c = second.device.create_stream(false);
  first.put(b, 'b');
  const Moment early = first.device.now(b);
  second.device.enqueue(c, [&](Device&) { first.device.run_until(early); });
  second.put(c, 'c');
  const Moment late = second.device.now(c);
  first.device.enqueue(a, [&](Device&) { second.device.run_until(late); });
  first.put(a, 'a');
  first.device.run_until(first.device.now(a));
  EXPECT_EQ(first.text, "ba");
  EXPECT_EQ(second.text, "c");
}

TEST(Streams, TheSeedShufflesStreamsAndKeepsTheirOrder) {
  std::set<std::string> orders;
  for (uint64_t seed = 0; seed < 40; ++seed) {
    Log log(seed);
    const uint32_t a = log.device.create_stream(true);
    const uint32_t b = log.device.create_stream(true);
    for (const char name : {'1', '2', '3'}) log.put(a, name);
    for (const char name : {'x', 'y'}) log.put(b, name);
    log.device.run_all();
    EXPECT_LT(log.text.find('1'), log.text.find('2'));
    EXPECT_LT(log.text.find('2'), log.text.find('3'));
    EXPECT_LT(log.text.find('x'), log.text.find('y'));
    orders.insert(log.text);
    if (seed == 0) {
      EXPECT_EQ(log.text, "123xy");
    }
  }
  EXPECT_GT(orders.size(), 5u);
}

TEST(Streams, WaitsAndTheDefaultStreamOrderThem) {
  for (uint64_t seed = 0; seed < 40; ++seed) {
    Log log(seed);
    const uint32_t a = log.device.create_stream(true);
    const uint32_t b = log.device.create_stream(true);
    const uint32_t free = log.device.create_stream(false);
    log.put(a, 'a');
    const Moment after_a = log.device.now(a);
    log.put(a, 'A');
    log.device.wait_for(b, after_a);
    log.put(b, 'b');
    log.put(free, 'f');
    log.put(Device::kDefault, 'd');
    log.put(b, 'B');
    log.device.run_all();
    const auto at = [&](char name) { return log.text.find(name); };
    EXPECT_EQ(log.text.size(), 6u);
    EXPECT_LT(at('a'), at('b'));
    EXPECT_LT(at('A'), at('d'));
    EXPECT_LT(at('b'), at('d'));
    EXPECT_LT(at('d'), at('B'));
  }
}

TEST(Streams, AfterAFaultNothingRuns) {
  Log log(0);
  log.device.enqueue(Device::kDefault, [](Device& device) { device.fill(16, 0, 4, 2); });
  log.put(Device::kDefault, 'x');
  log.device.run_all();
  ASSERT_TRUE(log.device.failure());
  EXPECT_TRUE(has(log.device.failure()->what(), "a memset of 8 bytes: a null pointer"));
  EXPECT_EQ(log.text, "");
}

}  // namespace
}  // namespace softgpu
