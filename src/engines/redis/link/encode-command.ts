/** A command's name and arguments. */
export type CommandArgs = readonly (string | number)[];

/** Encodes a command. Source: Redis serialization protocol specification, RESP2. */
export function encodeCommand(args: CommandArgs): string {
  let text = `*${args.length}\r\n`;
  for (const arg of args) {
    const word = typeof arg === 'string' ? arg : String(arg);
    text += `$${Buffer.byteLength(word)}\r\n${word}\r\n`;
  }
  return text;
}
