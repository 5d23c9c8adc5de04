/** Stands for a language model: words of an answer, one after the other. */
export async function* answerTo(question, signal) {
  const words = `You asked: ${question} ${'I have thought about it. '.repeat(20)}That is all.`;
  for (const word of words.match(/\S+\s*/g)) {
    if (signal.aborted) return;
    yield word;
    await new Promise((resolve) => setTimeout(resolve, 30));
  }
}
