/**
 * Runs a program with a task and returns what it prints, both as JSON. `pin` is the command that holds it to its core,
 * or empty.
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
  // Each file says which type it prints, and who calls names that.
  return JSON.parse(printed) as Result;
}
