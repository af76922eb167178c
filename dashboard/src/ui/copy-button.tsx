import { useEffect, useState } from 'preact/hooks';
import { t } from '../text/text.ts';
import { Button } from './button.tsx';

export interface CopyButtonProps {
  readonly text: string;
  /** Default `Copy`. */
  readonly label?: string;
}

const SHOWN_MS = 2000;

/** Copies a text to the clipboard, and says so. */
export function CopyButton({ text, label = t('ui.copy') }: CopyButtonProps) {
  const [isCopied, setCopied] = useState(false);
  useEffect(() => {
    if (!isCopied) return;
    const timer = setTimeout(() => setCopied(false), SHOWN_MS);
    return () => clearTimeout(timer);
  }, [isCopied]);
  return (
    <>
      <Button tone="quiet" onClick={() => void copyText(text).then(setCopied)}>
        {isCopied ? t('ui.copied') : label}
      </Button>
      <span role="status" class="hidden">
        {isCopied ? t('ui.copied') : ''}
      </span>
    </>
  );
}

/** @returns whether the browser allowed it */
export async function copyText(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    return false;
  }
}
