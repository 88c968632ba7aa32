/** Worker processes that reported in the log that they serve, the newest last, with their operations ports. */
export function servingIn(lines: readonly string[]): { pid: number; opsPort: number }[] {
  return (
    lines
      .filter((line) => line.includes('"serving"'))
      // A line of our own logger, which writes both in it.
      .map((line) => JSON.parse(line) as { pid: number; opsPort: number })
      .filter(({ pid }) => isAlive(pid))
  );
}

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}
