import { useState } from 'preact/hooks';
import { Button, Tabs, TextField } from '../../parts/controls.tsx';
import { draft, inLanguage, languagesOf, withLanguage } from './draft.ts';

/** The texts for devices of other languages: a tab for each. */
export function LanguageFields() {
  const [chosen, setChosen] = useState('');
  const [added, setAdded] = useState('');
  const languages = languagesOf(draft.value);
  const language = languages.includes(chosen) ? chosen : languages[0];
  const add = () => {
    if (added === '') return;
    draft.value = withLanguage(draft.value, added, {});
    setChosen(added);
    setAdded('');
  };
  return (
    <fieldset class="plain stack">
      <legend>In other languages</legend>
      {language !== undefined && (
        <>
          <Tabs
            label="Language"
            names={languages}
            chosen={language}
            choose={setChosen}
            panel="language"
          />
          <div class="pair" id="language" role="tabpanel" aria-label={language}>
            {(['title', 'body'] as const).map((name) => (
              <TextField
                key={name}
                label={name === 'title' ? `Title in ${language}` : `Text in ${language}`}
                value={inLanguage(draft.value, language, name)}
                write={(text) => {
                  draft.value = withLanguage(draft.value, language, { [name]: text });
                }}
              />
            ))}
          </div>
          <div>
            <Button
              onClick={() => {
                draft.value = withLanguage(draft.value, language, undefined);
              }}
            >
              Remove {language}
            </Button>
          </div>
        </>
      )}
      <TextField
        label="Another language"
        hint="A tag such as de or pt-BR. Devices of other languages get the texts above."
        value={added}
        write={setAdded}
      />
      <div>
        <Button onClick={add}>Add the language</Button>
      </div>
    </fieldset>
  );
}
