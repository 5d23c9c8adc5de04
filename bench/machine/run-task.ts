/**
 * Runs a program with a task and returns its output, both as JSON. `pin` is the command that pins it to its core, or
 * empty.
 */
export async function runTask<Result>(
  pin: readonly string[],
  file: string,
  task: object,
): Promise<Result> {
  const command = [process.execPath, file, JSON.stringify(task)];
  const child = Bun.spawn([...pin, ...command], { stdio: ['ignore', 'pipe', 'inherit'] });
  const kill = () => child.kill();
  // For an end that unwinds nothing, such as Ctrl-C.
  process.once('exit', kill);
  const printed = await new Response(child.stdout).text();
  const code = await child.exited;
  process.off('exit', kill);
  if (code !== 0) throw new Error(`${file} ended with ${code}`);
  // Each program documents the type of its output, which the caller names.
  return JSON.parse(printed) as Result;
}
