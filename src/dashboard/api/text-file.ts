import { failureOf } from './client.ts';

/** Reads a text that the page loads only where it is needed, because most visits do not need it. */
export async function readTextFile(url: string): Promise<string> {
  const response = await fetch(url);
  if (!response.ok) throw await failureOf(response);
  return await response.text();
}
