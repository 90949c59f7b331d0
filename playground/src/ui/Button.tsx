import type { ComponentProps } from 'react';
import { Icon, type IconName } from './Icon.tsx';
import './ui.css';

/** Properties of a button, besides those of the element. */
export interface ButtonProps extends ComponentProps<'button'> {
  /** `primary` is the one action of its place, `quiet` has no border, `danger` loses something. */
  readonly variant?: 'primary' | 'quiet' | 'danger' | undefined;
  readonly size?: 'small' | undefined;
  readonly icon?: IconName | undefined;
}

/** A button. One without a text, with only an icon, needs `aria-label`, which is shown as its tooltip, too. */
export function Button({ variant, size, icon, children, className = '', ...rest }: ButtonProps) {
  const iconOnly = icon !== undefined && (children === undefined || children === null);
  return (
    <button
      type="button"
      title={iconOnly ? rest['aria-label'] : undefined}
      {...rest}
      className={`ui-button ${className}`}
      data-variant={variant}
      data-size={size}
      data-icon-only={iconOnly}
    >
      {icon && <Icon name={icon} />}
      {children}
    </button>
  );
}
