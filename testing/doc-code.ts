/** The first block of code of a page in a language that contains a text, as a reader would copy it. */
export async function codeIn(page: string, language: string, text: string): Promise<string> {
  const found = (await Bun.file(page).text()).matchAll(
    new RegExp(`^\`\`\`${language}\n([\\s\\S]*?)^\`\`\`$`, 'gm'),
  );
  for (const [, code = ''] of found) if (code.includes(text)) return code;
  throw new Error(`${page} has no ${language} with ${text}`);
}
