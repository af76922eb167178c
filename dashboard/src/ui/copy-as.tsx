import { useState } from 'preact/hooks';
import { t } from '../text/text.ts';
import { Button } from './button.tsx';
import { CodeBlock } from './code-block.tsx';
import { Dialog } from './dialog.tsx';
import { Tabs } from './tabs.tsx';

export interface CopyAsProps {
  /** Such as dig, curl, node, python, in the order of the tabs. Placeholders like $UQRP_TOKEN stand for secrets. */
  readonly variants: readonly { readonly name: string; readonly code: string }[];
  /** Text of the button. Default `Copy as`. */
  readonly label?: string;
}

/** A button that shows an action as commands and code, each with a button to copy it. Without any there is no button. */
export function CopyAs({ variants, label = t('ui.copyAs') }: CopyAsProps) {
  const [isOpen, setOpen] = useState(false);
  const [current, setCurrent] = useState(variants[0]?.name ?? '');
  const shown = variants.find(({ name }) => name === current) ?? variants[0];
  if (shown === undefined) return null;
  return (
    <>
      <Button onClick={() => setOpen(true)}>{label}</Button>
      {isOpen ? (
        <Dialog title={label} onClose={() => setOpen(false)} isWide>
          <Tabs
            label={label}
            tabs={variants.map(({ name }) => ({ id: name, text: name }))}
            current={shown.name}
            onChange={setCurrent}
          >
            <CodeBlock code={shown.code} label={shown.name} />
          </Tabs>
        </Dialog>
      ) : null}
    </>
  );
}
